import { lineOf, type NodeDoing, wordsOf } from "../app/hub-doing.ts";
import type { Clock, Timer } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { systemdTell, type Tell, tellReady } from "../operations/supervision.ts";
import type { Terminal } from "./terminal.ts";

/** What it tells, and how. */
export interface HubTellingNeeds {
  terminal: Pick<Terminal, "out" | "env">;
  clock: Clock;
  log: Log;
  /** By `systemdTell` unless given. */
  tell?: Tell | null;
}

/** Tells whoever started a node of a cloud, and whoever reads its log, what it does before it acts. */
export interface HubTelling {
  say(doing: NodeDoing): void;
  /** The daemon speaks for itself, or nothing runs any more. */
  end(): void;
}

/** What is done sooner is not told, and what takes longer so often. own choice */
const FIRST_MS = 500;
const AGAIN_MS = 5_000;
/** How long the service manager leaves a start that gets on: whoever brings rows is heard between two pages. own choice */
const PATIENCE_USEC = 120_000_000;

/**
 * Makes it. Ready is told once the node stands by, or by the daemon; a longer start asks for more time as long as it gets on,
 * so that one that hangs is still ended. @source sd_notify(3): EXTEND_TIMEOUT_USEC
 */
export function createHubTelling(needs: HubTellingNeeds): HubTelling {
  const { terminal, clock, log } = needs;
  const { env } = terminal;
  const tell = needs.tell === undefined ? systemdTell(env, log) : needs.tell;
  let standing: Timer | null = null;
  let dueAt: number | null = null;

  function status(words: string): void {
    // Of one that has been ready there is no start to be patient with.
    tell?.(...(standing ? [] : [`EXTEND_TIMEOUT_USEC=${PATIENCE_USEC}`]), `STATUS=${words}`);
  }

  return {
    say(doing) {
      if (doing.doing === "stands-by") {
        terminal.out(JSON.stringify({ event: "standby", pid: process.pid }));
        // Its turn may come in months.
        standing?.cancel();
        standing = tellReady({ env, clock, log, tell }, "Stands by.");
        dueAt = null;
        return;
      }
      if (!("done" in doing)) return status("Begins to act.");
      const now = clock.monotonicMs();
      dueAt ??= now + FIRST_MS;
      if (now < dueAt) return;
      dueAt = now + AGAIN_MS;
      terminal.out(lineOf(doing, process.pid));
      log.info({ done: doing.done, of: doing.of }, wordsOf(doing));
      status(wordsOf(doing));
    },
    end() {
      standing?.cancel();
    },
  };
}
