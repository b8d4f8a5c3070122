/** Limits of the messaging gateway, part of `limits`, each beside its reason. */

export const gatewayLimits = {
  gateway: {
    /** Reference, Delivery ledger: three tries, a day of freshness, a week of history. */
    deliveryTriesMax: 3,
    deliveryFreshMs: 86_400_000,
    deliveryKeepMs: 604_800_000,
    /** Received messages in memory while the store refuses them. */
    unstoredMax: 1_000,
    /** Waiting prompts per chat before a message is refused with a notice. */
    inboxPerChatMax: 100,
    /** Lines of one person that arrive no further apart are one message: a paste, or a long line that the client cut. */
    ircGatherMs: 1_200,
    ircGatherMaxMs: 10_000,
    /** A prompt gathers no longer than this, no more lines and no more bytes: the rest is the next one. */
    gatherWaitMaxMs: 5_000,
    gatherLinesMax: 200,
    gatherMaxBytes: 16_384,
    /** Where the webhook platform listens unless it is told otherwise. */
    webhookHost: '127.0.0.1',
    webhookPort: 8_644,
    /** Names of work in gateway_state.json: it is written at every change. */
    activeWorkNamed: 50,
    /** Reference, Webhooks. */
    webhookBodyMaxBytes: 1_000_000,
    webhookPerMinute: 30,
    /** Wrong proofs at one route from all addresses together: then only senders that were right lately are heard. */
    webhookGuessesPerMinute: 300,
    /** Addresses remembered per route, of each kind; the oldest go first. */
    webhookSendersMax: 500,
    /** How long a sender that was right passes the bound over all: most services deliver at least daily. */
    webhookKnownMs: 7 * 86_400_000,
    /** A signature that names its time is good so long: Stripe and Slack ask for five minutes. */
    webhookSkewMs: 300_000,
    webhookIdempotencyMs: 3_600_000,
    /** Deliveries without an id whose sender did not read the answer; the oldest go first. */
    webhookUnheardMax: 1_000,
    /** First pause before a lost platform is dialled again; doubles with jitter. */
    reconnectMinMs: 1_000,
    reconnectMaxMs: 60_000,
    /** A pause before the next try that a platform asks for is cut to this. */
    retryAfterMaxMs: 3_600_000,
    /** Held messages are released one by one at this pace after `agent resume`. */
    releaseMs: 500,
    /** Conversations that run a turn at the same time. */
    turnsMax: 8,
    /** Chats that are being written to at the same time. */
    deliveriesMax: 8,
    /** Waiting deliveries per chat, and in all, before `delivery.enqueue` refuses. */
    outboxPerChatMax: 1_000,
    outboxMax: 10_000,
    /** Closed inbox rows kept beside the week: a flood of refused messages must not fill the disk. */
    inboxKeepMax: 10_000,
    /** Accepted work that cannot be handed over is tried again, with jitter up to this pause. */
    turnRetryMinMs: 100,
    turnRetryMaxMs: 15_000,
    /** After this long without the agent worker the user is told that the message is kept. */
    waitingNoticeMs: 30_000,
    /** A question that waits for its delivery is looked at again this often, beside the wake-up by its outcome. */
    questionLookMs: 60_000,
    /** A stranger is told no once in this time. */
    refusalEveryMs: 3_600_000,
    /** What a drain gives the outbox to empty itself. */
    flushMs: 2_000,
    /** A chat server answers its handshake, lets us into a room and acknowledges a line within these. */
    connectMs: 30_000,
    joinMs: 10_000,
    confirmMs: 15_000,
    /** Lines sent at once, then one per pause: slower than the flood protection of common IRC servers. */
    ircBurstLines: 5,
    ircLineMs: 700,
    /** Lines of one message on IRC; the rest is cut and says so. */
    ircLinesMax: 60,
    /** A webhook request is read within this. */
    webhookRequestMs: 10_000,
    webhookConnectionsMax: 100,
    /** Webhook routes made by command, of one profile; each may keep a minute of times in memory. */
    subscriptionsMax: 200,
    /** A connection that somebody tries out from the page or a command: a handshake and a room, while a person waits. */
    testMs: 20_000,
    /** Messages that were given up, as listed, retried or discarded at once. */
    undeliveredMax: 500,
    /** Reference, Webhooks: characters of a nested value and of the raw body in a prompt. */
    webhookFieldMaxChars: 2_000,
    webhookRawMaxChars: 4_000,
    /** Old rows are removed this often. */
    pruneMs: 3_600_000,
  },
} as const;
