import type { LoadRunRow } from "../../api/upload-rows.ts";
import type { MessageKey } from "../../i18n/message-keys.ts";

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
