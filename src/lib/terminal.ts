/** What a command may use of its process. */
export interface Terminal {
  /** Writes one line to stdout: results only. */
  out(line: string): void;
  /** Writes one line to stderr: everything for people. */
  err(line: string): void;
  /** True when stderr is a terminal, so that its output is not stored. */
  readonly errIsTerminal: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prompts at the terminal without echo; null without a terminal. */
  askSecret(question: string): Promise<string | null>;
  /** Calls `stop` at SIGTERM and SIGINT until the function returned is called. */
  onStop(stop: (signal: "SIGTERM" | "SIGINT") => void): () => void;
}
