/** The places of a machine by what a sandboxed command may do there. Data only; policy.ts applies it. */

/**
 * Folders that are shown empty: homes, sockets of other services, mail, logs and data of servers, other disks.
 * A folder that this user cannot read is left as it is.
 */
export const hiddenFolders: readonly string[] = [
  '/home',
  '/root',
  '/Users',
  '/run',
  '/var/run',
  '/var/tmp',
  '/var/log',
  '/var/mail',
  '/var/spool',
  '/var/backups',
  '/var/lib/docker',
  '/var/lib/containerd',
  '/var/lib/kubelet',
  '/var/lib/postgresql',
  '/var/lib/mysql',
  '/var/lib/redis',
  '/var/lib/private',
  '/etc/ssh',
  '/etc/ssl/private',
  '/etc/letsencrypt',
  '/etc/NetworkManager/system-connections',
  '/etc/wireguard',
  '/etc/sudoers.d',
  '/etc/kubernetes',
  '/mnt',
  '/media',
];

/** Files that are shown empty. A service that runs as root could read them otherwise. */
export const credentialFiles: readonly string[] = [
  '/etc/shadow',
  '/etc/shadow-',
  '/etc/gshadow',
  '/etc/gshadow-',
  '/etc/sudoers',
  '/etc/security/opasswd',
  '/etc/machine-id',
];

/** Entries of the home that are shown: programs, their libraries and harmless settings. None of them holds credentials. */
export const toolChains: readonly string[] = [
  '.bashrc',
  '.bash_aliases',
  '.profile',
  '.inputrc',
  '.gitconfig',
  '.gitignore',
  '.tool-versions',
  '.nvm',
  '.volta/bin',
  '.volta/tools',
  '.fnm',
  '.bun/bin',
  '.deno/bin',
  '.local/bin',
  '.local/lib',
  '.local/share/fnm',
  '.local/share/mise',
  '.local/share/pnpm',
  '.local/share/uv',
  '.local/pipx/venvs',
  '.asdf',
  '.pyenv',
  '.rbenv',
  '.sdkman/candidates',
  '.rustup',
  '.cargo/bin',
  '.cargo/registry',
  '.ghcup/bin',
  'go/bin',
  'go/pkg',
  'miniconda3',
  'anaconda3',
];

/** Never a workspace; `below`: nor is a folder in them. */
export const systemFolders: readonly { path: string; below?: boolean }[] = [
  { path: '/bin', below: true },
  { path: '/boot', below: true },
  { path: '/dev', below: true },
  { path: '/etc', below: true },
  { path: '/home' },
  { path: '/lib', below: true },
  { path: '/lib64', below: true },
  { path: '/mnt' },
  { path: '/media' },
  { path: '/opt' },
  { path: '/proc', below: true },
  { path: '/run', below: true },
  { path: '/sbin', below: true },
  { path: '/srv' },
  { path: '/sys', below: true },
  { path: '/usr', below: true },
  { path: '/var' },
  { path: '/var/lib' },
  { path: '/var/tmp' },
];

/** In a workspace: what git, shells and editors run when somebody works there later. Read-only where they exist. */
export const protectedNames: readonly string[] = ['.git/config', '.git/info', '.git/modules', '.envrc', '.vscode', '.idea', '.gitmodules'];
