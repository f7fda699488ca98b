import type { FrameTransport, SyncLimits, UpstreamFeed } from "../protocol/frames.ts";
import type { TransactionStore } from "../storage/transaction-program.ts";
import type { FlowControlWindow } from "../transport/flow-control-window.ts";
import { nextUpstreamPage } from "./outbox.ts";
import { isStateResendPending } from "./state-resend.ts";

/** Connection state used by the sender. */
export interface FeedConnection {
  wire: FrameTransport;
  isLive: boolean;
  window: FlowControlWindow;
  /** Position up to which each feed was sent. */
  sent: Record<UpstreamFeed, number>;
}

/** Sends the own feeds. */
export interface UpstreamSender {
  /** Sends pending records while the window is open, the hot feed first. */
  sendPending(): Promise<void>;
  /** As `sendPending`, after new records were written. */
  sendAll(): Promise<void>;
}

/** `resendState` queues a batch of a full state resend and returns whether it was the last. */
export function createUpstreamSender(deps: {
  store: TransactionStore;
  limits: SyncLimits;
  connection(): FeedConnection | null;
  resendState(): Promise<boolean>;
  /** Runs urgent tasks. */
  yieldToUrgent(): Promise<void>;
}): UpstreamSender {
  const { store, limits, connection } = deps;
  /** Feeds that may have records to send; reset before the query, because more may be written during it. */
  const due: Record<UpstreamFeed, boolean> = { hot: true, bulk: true };

  let isResending = false;

  async function resendAllState(): Promise<void> {
    isResending = true;
    try {
      while (!(await deps.resendState())) await deps.yieldToUrgent();
    } finally {
      isResending = false;
    }
  }

  async function sendPending(): Promise<void> {
    // Records written during the resend are urgent and sent in between.
    const mayResend = due.bulk && !isResending && connection()?.isLive;
    if (mayResend && (await store.read(isStateResendPending))) await resendAllState();
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
