/** The key of a conversation: built here and nowhere else (reference, Keys and reset). */

export interface ChatPlace {
  profile: string;
  platform: string;
  /** `dm`, `group`, … as the platform has them; a group is one conversation for all who write in it. */
  chatType: string;
  chat: string;
  thread: string;
}

/** `agent:main:irc:group:#room`, with `+thread` where there is one; another profile has its own namespace. */
export function conversationKey({ profile, platform, chatType, chat, thread }: ChatPlace): string {
  const space = profile === 'default' ? 'main' : profile;
  return `agent:${space}:${platform}:${chatType}:${chat}${thread === '' ? '' : `+${thread}`}`;
}
