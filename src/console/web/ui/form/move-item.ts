/** The list with the element at `from` put at `to`. */
export function moveItem<T>(list: readonly T[], from: number, to: number): T[] {
  const rest = list.filter((_, at) => at !== from);
  const element = list[from];
  return element === undefined ? rest : [...rest.slice(0, to), element, ...rest.slice(to)];
}
