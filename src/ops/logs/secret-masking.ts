const MASK = "[masked]";

/** Patterns of secrets in any line; the first group is kept. */
const SECRETS: readonly RegExp[] = [
  /(\bcarillon_)[\w-]{8,}/g,
  /(\b(?:Bearer|Basic|Digest)\s+)[^\s"',;]+/gi,
  /("[^"]*(?:password|passwd|secret|token|authorization|cookie|community|apikey|api_key|private[-_]?key|pin)[^"]*"\s*:\s*)"(?:[^"\\]|\\.)*"/gi,
  /(\\"[^"\\]*(?:password|passwd|secret|token|authorization|cookie|community)[^"\\]*\\"\s*:\s*)\\"(?:[^"\\]|\\[^"])*\\"/gi,
  /(\b(?:password|passwd|secret|access_token|refresh_token|client_secret|code)=)[^&\s"']+/gi,
  /(\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@"]*:)[^\s/@"]+(?=@)/gi,
  /(\bv1:)[A-Za-z0-9+/=]{24,}/g,
  /(-----BEGIN [A-Z ]*PRIVATE KEY-----)[\s\S]*?(?=-----END|$)/g,
];

/** Masks everything that looks like a secret. The log should contain none; this catches those in messages of devices and plugins. */
export function maskSecrets(line: string): string {
  return SECRETS.reduce((text, secret) => text.replace(secret, `$1${MASK}`), line);
}
