/** The one way by which text becomes HTML on this page: DOMPurify, whose policy is the only one that the page allows. */
import DOMPurify from 'dompurify';

const purifier = DOMPurify(window);
purifier.addHook('afterSanitizeAttributes', (node) => {
  // A wide one is scrolled by keys too.
  if (node.tagName === 'TABLE') node.setAttribute('tabindex', '0');
  if (node.tagName !== 'A') return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer nofollow');
});

const prose = {
  ALLOWED_TAGS: 'p br hr em strong del code pre a ul ol li blockquote h1 h2 h3 h4 h5 h6 table thead tbody tr th td'.split(' '),
  ALLOWED_ATTR: ['href', 'title', 'align', 'start'],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ADD_ATTR: ['target', 'rel'],
  RETURN_TRUSTED_TYPE: true,
};

export const sanitizeProse = (html: string): TrustedHTML => purifier.sanitize(html, prose);

const code = { ALLOWED_TAGS: ['span'], ALLOWED_ATTR: ['class'], RETURN_TRUSTED_TYPE: true };

export const sanitizeCode = (html: string): TrustedHTML => purifier.sanitize(html, code);
