import type { LoadRunRow } from "../../api/upload-rows.ts";
import type { MessageKey } from "../../i18n/message-keys.ts";
import type { Translator } from "../../i18n/translator.ts";

/** True until a load is over. */
export function isRunActive({ state }: Pick<LoadRunRow, "state">): boolean {
  return ["pending", "running", "applying"].includes(state);
}

/** The sign of a load's state. */
export function runTone({ state }: Pick<LoadRunRow, "state">): string {
  if (state === "complete") return "good";
  return state === "failed" ? "bad" : state === "stopped" ? "warn" : "";
}

/** Counts of an import run: people read, and all non-zero changes. A stopped run changed nothing. */
export function runCounts(run: LoadRunRow): { key: MessageKey; n: number }[] {
  const counts = [
    { key: "load.users-created", n: run.usersCreated },
    { key: "load.users-changed", n: run.usersChanged },
    { key: "load.users-removed", n: run.usersRemoved },
    { key: "load.lists-created", n: run.listsCreated },
    { key: "load.lists-removed", n: run.listsRemoved },
    { key: "load.places-created", n: run.subscriptionsCreated },
    { key: "load.places-removed", n: run.subscriptionsRemoved },
  ] as const;
  return [
    { key: "load.people-read", n: run.peopleRead },
    ...counts.filter(({ n }) => n > 0 && run.state !== "stopped"),
  ];
}

/** What an import is doing, and how far it is. */
export function progressText(run: LoadRunRow, { t, name, say }: Translator): string {
  if (run.waitingFor !== null) return t("load.waiting-for", { name: say(run.waitingFor, run.waitingForSentence) });
  const phase = name("load-phase", run.phase ?? "reading");
  if (run.phase === "reading") return t("load.lines-read", { phase, count: run.linesRead });
  return `${phase} · ${run.percentage} %`;
}
