/** Limits of the dashboard's sign-in, part of `limits`, each beside its reason. */

const KiB = 1024;
const MiB = 1024 * KiB;

export const signInLimits = {
  passwordHash: {
    /** scrypt as OWASP asks for (2^14, 8, 5): 16 MiB and 0.15 s a try on this machine. */
    cost: 16_384,
    blockSize: 8,
    parallel: 5,
    saltBytes: 16,
    keyBytes: 32,
    /** A hash somebody else made may cost more, up to this much memory, … */
    memoryMaxBytes: 128 * MiB,
    /** … and this often. */
    parallelMax: 16,
    /** Shorter ones are no salt and no key. */
    saltMinBytes: 8,
    keyMinBytes: 16,
  },
  signIn: {
    /** Reference §1.1: a password session lasts twelve hours. */
    passwordSessionSeconds: 43_200,
    /** A session whose provider can renew it silently: a user blocked there is out within this time. */
    renewableSessionSeconds: 3_600,
    /** One that lasts a minute would be renewed at every click. */
    sessionMinSeconds: 300,
    /** Nobody stays signed in by renewals alone for longer. */
    renewalsMaxSeconds: 30 * 24 * 3_600,
    /** Between the click on "Sign in with …" and the way back: a password manager, a second factor. */
    flowSeconds: 600,
    /** Sign-ins under way in one browser, each in a cookie; the oldest go first. */
    flowsMax: 3,
    /** A place to come back to after it; a longer one is forgotten, for it stands in that cookie. */
    nextMaxChars: 500,
    /** Reference §1.1: tries of a password from one address in a minute. */
    triesPerMinute: 10,
    /** And from one /48 of IPv6, which one customer of a provider may own. */
    triesPerNetwork: 30,
    /** Addresses remembered for that; the oldest go first. IPv6 counts by /64, so that one host is one address. */
    addressesMax: 10_000,
    /** Passwords checked side by side: each takes 16 MiB and a thread of four. */
    checksAtOnce: 2,
    /** Checks that wait behind them; more are told to come back. */
    checksWaiting: 16,
    /** Reference §1.1: life of a WebSocket ticket, single use. */
    ticketSeconds: 30,
    /** Life of the code in the address that `agent up` prints, single use: time to read the terminal and copy it. */
    loginCodeSeconds: 900,
    /** A browser that showed a code is recognised this long after its last visit. */
    browserSeconds: 30 * 24 * 3_600,
    /** Tickets and codes that wait to be used; the oldest go first. */
    ticketsMax: 512,
    /** Of one session: a page that asks in a loop must not use up the others'. */
    ticketsPerOwnerMax: 64,
    /** A cookie with its name and attributes is cut at 4,096 bytes by browsers. */
    cookieMaxBytes: 3_800,
    /** The ID token goes along on the way out: with the other two the line of cookies stays below the 8 KB that nginx takes. */
    hintMaxBytes: 3_000,
    /** Sessions that were signed out early and are remembered until they would have ended. */
    endedMax: 1_000,
    /** A question to an identity provider. */
    providerMs: 8_000,
    /** Telling it that a session ended, and asking whether it is there at all before a browser is sent to it: nobody waits for that. */
    revokeMs: 3_000,
    /** Between the way out and the way back from the provider, where it may ask the person. */
    farewellSeconds: 600,
    /** What a provider says about itself is asked again after this. */
    discoverySeconds: 3_600,
    /** Tries of that question, and the pause between two. */
    discoveryTries: 3,
    discoveryPauseMs: 300,
    /** An answer of a provider; its key set is the largest. */
    providerAnswerMaxBytes: 512 * KiB,
    /** An opener of addresses that still runs then has found a browser. */
    browserMs: 1_500,
    /** A renewed session serves everyone who asks with the old cookie for so long: the requests of one page come together. */
    renewalSharedMs: 30_000,
    usernameMaxChars: 256,
    passwordMaxChars: 1_024,
    /** NIST SP 800-63B: shorter ones are guessed. */
    passwordMinChars: 8,
    allowedUsersMax: 1_000,
    trustedProxiesMax: 100,
  },
} as const;
