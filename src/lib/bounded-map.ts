/**
 * Sets an entry as the newest one of the map and evicts the oldest when there would be more than `maxEntries`. A map
 * whose entries are set at each use evicts the least recently used one.
 */
export function setBounded<K, V>(map: Map<K, V>, key: K, value: V, maxEntries: number): void {
  map.delete(key);
  if (map.size >= maxEntries) map.delete(map.keys().next().value as K);
  map.set(key, value);
}
