/**
 * The first language of an Accept-Language header that pages are written in; English without.
 * @source RFC 9110 §12.5.4
 */
export function acceptedLanguage(accepted: string | null): "de" | "en" {
  const ranges = (accepted ?? "").split(",").map((range, at) => {
    const [tag = "", ...parameters] = range.trim().toLowerCase().split(";");
    const weight = Number(
      parameters
        .find((each) => each.trim().startsWith("q="))
        ?.trim()
        .slice(2) ?? 1,
    );
    return { language: tag.split("-")[0], weight: Number.isNaN(weight) ? 0 : weight, at };
  });
  const known = ranges.filter(({ language, weight }) => weight > 0 && (language === "de" || language === "en"));
  const [first] = known.sort((a, b) => b.weight - a.weight || a.at - b.at);
  return first?.language === "de" ? "de" : "en";
}
