import type { FrameTransport, SyncLimits, UpstreamFeed } from "../protocol/frames.ts";
import type { TransactionStore } from "../storage/transaction-program.ts";
import type { FlowControlWindow } from "../transport/flow-control-window.ts";
import { nextUpstreamPage } from "./outbox.ts";
import { isStateResendPending } from "./state-resend.ts";

/** What sending needs to know of a connection. */
export interface FeedConnection {
  wire: FrameTransport;
  isLive: boolean;
  window: FlowControlWindow;
  /** Up to where each feed was sent. */
  sent: Record<UpstreamFeed, number>;
}

/** Sends the own feeds. */
export interface UpstreamSender {
  /** Sends what there may be while the cloud takes it, the hot feed first. */
  sendPending(): Promise<void>;
  /** As `run`, after something was written. */
  sendAll(): Promise<void>;
}

/** Makes it; `tellSome` puts some of what is untold of the own state into the feed, and says whether that was all. */
export function createUpstreamSender(needs: {
  store: TransactionStore;
  limits: SyncLimits;
  connection(): FeedConnection | null;
  tellSome(): Promise<boolean>;
  /** What is urgent is done now. */
  giveWay(): Promise<void>;
}): UpstreamSender {
  const { store, limits, connection } = needs;
  /** Feeds in which there may be something to send; taken back before it is looked for, as more may come meanwhile. */
  const due: Record<UpstreamFeed, boolean> = { hot: true, bulk: true };

  let isTelling = false;

  async function resendState(): Promise<void> {
    isTelling = true;
    try {
      while (!(await needs.tellSome())) await needs.giveWay();
    } finally {
      isTelling = false;
    }
  }

  async function sendPending(): Promise<void> {
    // What is written meanwhile is urgent, and sent in between.
    const mayTell = due.bulk && !isTelling && connection()?.isLive;
    if (mayTell && (await store.read(isStateResendPending))) await resendState();
    for (const lane of ["hot", "bulk"] as const) {
      for (let live = connection(); due[lane] && live?.isLive && live.window.isOpen(); live = connection()) {
        due[lane] = false;
        const { sent } = live;
        const page = await store.read(() => nextUpstreamPage(lane, sent[lane], limits));
        if (page?.more || connection() !== live) due[lane] = true;
        if (!page || connection() !== live) continue;
        sent[lane] = page.frame.to;
        live.window.sent(page.bytes);
        live.wire.send(page.frame);
      }
    }
  }

  return {
    sendPending,
    sendAll() {
      Object.assign(due, { hot: true, bulk: true });
      return sendPending();
    },
  };
}
