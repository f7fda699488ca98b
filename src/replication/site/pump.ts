import type { Lane, Limits, Wire } from "../frames.ts";
import type { SendWindow } from "../send-window.ts";
import type { WorkStore } from "../work.ts";
import { nextPage } from "./outbox.ts";
import { isUntold } from "./own-state.ts";

/** What sending needs to know of a connection. */
export interface Outlet {
  wire: Wire;
  isLive: boolean;
  window: SendWindow;
  /** Up to where each feed was sent. */
  sent: Record<Lane, number>;
}

/** Sends the own feeds. */
export interface Pump {
  /** Sends what there may be while the cloud takes it, the hot feed first. */
  run(): Promise<void>;
  /** As `run`, after something was written. */
  runAll(): Promise<void>;
}

/** Makes it; `tellSome` puts some of what is untold of the own state into the feed, and says whether that was all. */
export function createPump(needs: {
  store: WorkStore;
  limits: Limits;
  connection(): Outlet | null;
  tellSome(): Promise<boolean>;
  /** What is urgent is done now. */
  giveWay(): Promise<void>;
}): Pump {
  const { store, limits, connection } = needs;
  /** Feeds in which there may be something to send; taken back before it is looked for, as more may come meanwhile. */
  const due: Record<Lane, boolean> = { hot: true, bulk: true };

  let isTelling = false;

  async function tellState(): Promise<void> {
    isTelling = true;
    try {
      while (!(await needs.tellSome())) await needs.giveWay();
    } finally {
      isTelling = false;
    }
  }

  async function run(): Promise<void> {
    // What is written meanwhile is urgent, and sent in between.
    const mayTell = due.bulk && !isTelling && connection()?.isLive;
    if (mayTell && (await store.read(isUntold))) await tellState();
    for (const lane of ["hot", "bulk"] as const) {
      for (let live = connection(); due[lane] && live?.isLive && live.window.isOpen(); live = connection()) {
        due[lane] = false;
        const { sent } = live;
        const page = await store.read(() => nextPage(lane, sent[lane], limits));
        if (page?.more || connection() !== live) due[lane] = true;
        if (!page || connection() !== live) continue;
        sent[lane] = page.frame.to;
        live.window.sent(page.bytes);
        live.wire.send(page.frame);
      }
    }
  }

  return {
    run,
    runAll() {
      Object.assign(due, { hot: true, bulk: true });
      return run();
    },
  };
}
