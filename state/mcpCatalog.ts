/**
 * MCP servers that are known to be of use, with what each needs: data, read by the dashboard and the command
 * alike. Packages carry their exact version: what is installed is what was looked at.
 */
export interface CatalogField {
  /** Secrets: the name of the variable in .env; others: a name of ours. */
  name: string;
  label: string;
  help?: string;
  secret: boolean;
  /** What stands there when nothing is given; without one, and unless `optional`, it has to be given. */
  default?: string;
  optional?: true;
}

export interface CatalogEntry {
  /** Also the name of the server in config.yaml. */
  name: string;
  title: string;
  description: string;
  category: 'Files and data' | 'Web and search' | 'Work' | 'Development';
  homepage: string;
  fields: readonly CatalogField[];
  /** Run with npx; `{field}` in an argument is replaced. */
  package?: { name: string; version: string; args: readonly string[] };
  url?: string;
  headers?: Readonly<Record<string, string>>;
  /** The server asks for a sign-in in the browser, which this release cannot do yet. */
  signIn?: true;
}

export const mcpCatalog: readonly CatalogEntry[] = [
  {
    name: 'filesystem',
    title: 'Files',
    description: 'Reads, searches and writes files below one folder that you choose.',
    category: 'Files and data',
    homepage: 'https://github.com/modelcontextprotocol/servers/tree/main/src/filesystem',
    fields: [{ name: 'folder', label: 'Which folder?', help: 'a whole path; the server can reach nothing outside of it', secret: false }],
    package: { name: '@modelcontextprotocol/server-filesystem', version: '2026.8.31', args: ['{folder}'] },
  },
  {
    name: 'memory',
    title: 'Knowledge graph',
    description: 'A store of its own for facts and how they hang together.',
    category: 'Files and data',
    homepage: 'https://github.com/modelcontextprotocol/servers/tree/main/src/memory',
    fields: [],
    package: { name: '@modelcontextprotocol/server-memory', version: '2026.8.31', args: [] },
  },
  {
    name: 'playwright',
    title: 'Browser',
    description: 'Drives a real browser: opens pages, clicks, fills in forms, takes pictures.',
    category: 'Web and search',
    homepage: 'https://github.com/microsoft/playwright-mcp',
    fields: [],
    package: { name: '@playwright/mcp', version: '0.0.83', args: ['--headless', '--isolated'] },
  },
  {
    name: 'brave-search',
    title: 'Brave Search',
    description: 'Searches the web, news, pictures and places.',
    category: 'Web and search',
    homepage: 'https://github.com/brave/brave-search-mcp-server',
    fields: [{ name: 'BRAVE_API_KEY', label: 'API key', help: 'from brave.com/search/api', secret: true }],
    package: { name: '@brave/brave-search-mcp-server', version: '2.1.4', args: ['--transport', 'stdio'] },
  },
  {
    name: 'context7',
    title: 'Context7',
    description: 'Up-to-date documentation and examples of programming libraries.',
    category: 'Development',
    homepage: 'https://github.com/upstash/context7',
    fields: [],
    package: { name: '@upstash/context7-mcp', version: '4.1.1', args: [] },
  },
  {
    name: 'deepwiki',
    title: 'DeepWiki',
    description: 'Answers questions about public GitHub repositories.',
    category: 'Development',
    homepage: 'https://deepwiki.com',
    fields: [],
    url: 'https://mcp.deepwiki.com/mcp',
  },
  {
    name: 'github',
    title: 'GitHub',
    description: 'Issues, pull requests, code and actions of your repositories.',
    category: 'Development',
    homepage: 'https://github.com/github/github-mcp-server',
    fields: [{ name: 'GITHUB_MCP_TOKEN', label: 'Personal access token', help: 'from github.com/settings/tokens', secret: true }],
    url: 'https://api.githubcopilot.com/mcp/',
    headers: { Authorization: 'Bearer ${GITHUB_MCP_TOKEN}' },
  },
  {
    name: 'notion',
    title: 'Notion',
    description: 'Pages and databases of a Notion workspace.',
    category: 'Work',
    homepage: 'https://github.com/makenotion/notion-mcp-server',
    fields: [{ name: 'NOTION_TOKEN', label: 'Integration token', help: 'from notion.so/profile/integrations', secret: true }],
    package: { name: '@notionhq/notion-mcp-server', version: '2.5.2', args: [] },
  },
  {
    name: 'linear',
    title: 'Linear',
    description: 'Issues, projects and comments of a Linear workspace.',
    category: 'Work',
    homepage: 'https://linear.app/docs/mcp',
    fields: [],
    url: 'https://mcp.linear.app/mcp',
    signIn: true,
  },
  {
    name: 'everything',
    title: 'Everything',
    description: 'A server for trying things out: one tool of each kind.',
    category: 'Development',
    homepage: 'https://github.com/modelcontextprotocol/servers/tree/main/src/everything',
    fields: [],
    package: { name: '@modelcontextprotocol/server-everything', version: '2026.8.31', args: [] },
  },
];
