const MASK = "[masked]";

/** What secrets look like in a line, wherever they come from; the first group stays. */
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

/** A line without what looks like a secret: the log keeps none in the first place, this is for what devices and plugins say. */
export function maskSecrets(line: string): string {
  return SECRETS.reduce((text, secret) => text.replace(secret, `$1${MASK}`), line);
}
