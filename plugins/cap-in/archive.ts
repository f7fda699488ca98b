/**
 * Path of a missed alert in the archive of a stream: its day, time and identifier, in characters that file names may have.
 * @source NAADS LMD User Guide 10.0, Missed Alert Messages
 */
export function archivePath(identifier: string, sent: string): string {
  const time = fileName(sent);
  return `/${sent.slice(0, 10)}/${encodeURIComponent(`${time}I${fileName(identifier)}.xml`)}`;
}

function fileName(text: string): string {
  return text.replace(/[-:]/g, "_").replaceAll("+", "p");
}
