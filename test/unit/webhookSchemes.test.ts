/** How senders prove themselves to a webhook route, which events make a turn, and what a prompt may show. */
import { createHmac } from 'node:crypto';
import t from 'tap';
import { deliveryIdOf, isAuthentic } from '../../services/gateway/adapters/webhookAuth.ts';
import { eventNames, isWanted, shownHeaders } from '../../services/gateway/adapters/webhookEvents.ts';
import { fillTemplate } from '../../services/gateway/adapters/webhookTemplate.ts';

const NOW_MS = 1_700_000_000_000;
const now = String(NOW_MS / 1_000);
const old = String(NOW_MS / 1_000 - 301);
const body = Buffer.from('{"a":1}');
const secret = 'a-secret-of-the-test';
const sign = (text: string, key: string | Buffer = secret, encoding: 'hex' | 'base64' = 'hex') =>
  createHmac('sha256', key).update(text).digest(encoding);
const whsec = Buffer.from('standard-webhooks-key');

t.test('each scheme is accepted, and refused when changed, late or signed with another secret', async (t) => {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const table: [name: string, headers: Record<string, string>, want: boolean, secret?: string][] = [
    ['GitHub', { 'x-hub-signature-256': `sha256=${sign('{"a":1}')}` }, true],
    ['Stripe', { 'stripe-signature': `t=${now},v1=00,v1=${sign(`${now}.{"a":1}`)},v0=zz` }, true],
    ['Stripe, late', { 'stripe-signature': `t=${old},v1=${sign(`${old}.{"a":1}`)}` }, false],
    ['Stripe, no time', { 'stripe-signature': `v1=${sign('.{"a":1}')}` }, false],
    ['Slack', { 'x-slack-signature': `v0=${sign(`v0:${now}:{"a":1}`)}`, 'x-slack-request-timestamp': now }, true],
    ['Slack, late', { 'x-slack-signature': `v0=${sign(`v0:${old}:{"a":1}`)}`, 'x-slack-request-timestamp': old }, false],
    ['Slack, another time', { 'x-slack-signature': `v0=${sign(`v0:${old}:{"a":1}`)}`, 'x-slack-request-timestamp': now }, false],
    [
      'Standard Webhooks',
      { 'webhook-id': 'm1', 'webhook-timestamp': now, 'webhook-signature': `v1,AAAA v1,${sign(`m1.${now}.{"a":1}`, whsec, 'base64')}` },
      true,
      `whsec_${whsec.toString('base64')}`,
    ],
    [
      'Standard Webhooks, another id',
      { 'webhook-id': 'm2', 'webhook-timestamp': now, 'webhook-signature': `v1,${sign(`m1.${now}.{"a":1}`, whsec, 'base64')}` },
      false,
      `whsec_${whsec.toString('base64')}`,
    ],
    ['Grafana', { 'x-grafana-alerting-signature': sign('{"a":1}') }, true],
    ['Grafana with a time', { 'x-grafana-alerting-signature': sign(`${now}:{"a":1}`), 'x-grafana-alerting-timestamp': now }, true],
    ['Bearer', { authorization: `Bearer ${secret}` }, true],
    ['Bearer, wrong', { authorization: 'Bearer guess' }, false],
    ['Basic, the password', { authorization: `Basic ${base64(`grafana:${secret}`)}` }, true],
    ['Basic, wrong', { authorization: `Basic ${base64(`${secret}:x`)}` }, false],
    ['GitLab', { 'x-gitlab-token': secret }, true],
    ['a wrong signature beside the right token', { 'x-hub-signature-256': 'sha256=00', authorization: `Bearer ${secret}` }, false],
    ['nothing', {}, false],
  ];
  for (const [name, headers, want, key = secret] of table) t.equal(isAuthentic(key, headers, body, NOW_MS), want, name);
  t.equal(isAuthentic(secret, { 'stripe-signature': `t=${now},v1=${sign(`${now}.{"a":1}`)}` }, Buffer.from('{}'), NOW_MS), false);
});

t.test('an event is named by a header or the payload; ping makes no turn unless listed', async (t) => {
  const github = (event: string, payload: object = {}) => eventNames({ 'x-github-event': event }, payload);
  t.equal(isWanted(github('ping'), undefined), false);
  t.equal(isWanted(github('ping'), ['ping']), true);
  t.equal(isWanted(github('push'), undefined), true);
  t.equal(isWanted(github('push'), ['pull_request']), false);
  t.equal(isWanted(github('pull_request', { action: 'opened' }), ['pull_request.opened']), true);
  t.equal(isWanted(eventNames({}, { type: 'invoice.paid' }), ['invoice.paid']), true);
  t.equal(isWanted(eventNames({}, []), ['push']), false);
  t.equal(isWanted(eventNames({}, 'text'), undefined), true);
});

t.test('headers are for the prompt, except those that prove the sender', async (t) => {
  const headers = shownHeaders({ 'x-github-event': 'push', authorization: 'Bearer x', 'x-hub-signature-256': 'y', 'x-gitlab-token': 'z' });
  t.same(headers, { 'x-github-event': 'push' });
  t.equal(fillTemplate('{headers.X-GitHub-Event} of {who} {headers.x-none}', { who: 'ada' }, '', headers), 'push of ada {headers.x-none}');
});

t.test('a delivery has the id of its header, of Stripe and Slack that of the event', (t) => {
  const payload = { id: 'evt_1', event_id: 'Ev1' };
  const table: [headers: Record<string, string>, payload: unknown, want: string | undefined][] = [
    [{ 'x-github-delivery': 'd1' }, payload, 'd1'],
    [{ 'stripe-signature': 't=1,v1=a' }, payload, 'evt_1'],
    [{ 'stripe-signature': 't=1,v1=a', 'idempotency-key': 'k' }, payload, 'k'],
    [{ 'x-slack-signature': 'v0=a' }, payload, 'Ev1'],
    [{ 'stripe-signature': 't=1,v1=a' }, { id: 7 }, undefined],
    [{ 'stripe-signature': 't=1,v1=a' }, null, undefined],
    [{ 'stripe-signature': 't=1,v1=a' }, { id: 'x'.repeat(201) }, undefined],
    [{}, payload, undefined],
  ];
  for (const [headers, body, want] of table) t.equal(deliveryIdOf(headers, body), want);
  t.end();
});
