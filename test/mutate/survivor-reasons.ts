/** Why no test notices a mutant, by `file: change`. */
export const SURVIVOR_REASONS: Readonly<Record<string, string>> = {};
