/** What an element is made of: attributes as in HTML (false leaves one out), and functions that listen to events. */
export type Parts = Readonly<Record<string, string | boolean | ((event: Event) => void)>>;

/** Makes an element; texts among `children` are shown as they are, null is left out. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  parts: Parts = {},
  ...children: readonly (Node | string | null)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(parts)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}
