import type { DeliveryItem } from "./delivery.ts";

/** The language of a recipient among those of a plugin's texts; `fallback` without a preference among them. */
export function recipientLanguage<L extends string>(
  { recipient }: Pick<DeliveryItem, "recipient">,
  texts: Readonly<Record<L, unknown>>,
  fallback: L,
): L {
  const [language = ""] = (recipient?.language ?? "").toLowerCase().split("-");
  return Object.hasOwn(texts, language) ? (language as L) : fallback;
}
