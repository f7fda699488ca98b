import type { Translator } from "../../i18n/translator.ts";
import type { ListFilter } from "./table-search.ts";

/** Filter: live or drill. */
export function drillFilter({ t }: Pick<Translator, "t">): ListFilter {
  return {
    name: "drill",
    label: t("send.mode"),
    choices: [
      { value: "false", label: t("live.word") },
      { value: "true", label: t("drill.word") },
    ],
  };
}
