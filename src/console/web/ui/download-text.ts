/** Gives the browser a text to keep as a file. */
export function downloadText(text: string, contentType: string, fileName: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: `${contentType};charset=utf-8` }));
  link.download = fileName;
  link.click();
  URL.revokeObjectURL(link.href);
}
