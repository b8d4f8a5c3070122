/** `display` of config.yaml as the REPL uses it, and what a command changes of it meanwhile. */

export interface DisplaySettings {
  interface?: string;
  vim_mode?: boolean;
  show_reasoning?: boolean;
  tool_progress?: string;
  skin?: string;
  /** As `/skin` answers it. */
  'display.skin'?: string;
}

/** The accent of each skin. */
export const accents: Record<string, 'cyan' | 'green' | 'magenta' | 'none'> = {
  default: 'cyan',
  forest: 'green',
  dusk: 'magenta',
  mono: 'none',
};
