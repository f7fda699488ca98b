import type { SipDialog } from "./dialog.ts";
import { cseqOf, firstHeader, headerValues, type SipResponse } from "./sip-message.ts";

/** Acknowledges reliable provisional responses. @source RFC 3262 §4 */
export interface ReliableProvisionals {
  /** Handles a provisional response; unreliable ones and repetitions are ignored. */
  handle(response: SipResponse, remoteTag: string): void;
  /** True if the response needs an acknowledgement. */
  isReliable(response: SipResponse): boolean;
}

/** Branches of a forked call that are acknowledged. */
const MAX_FORKS = 8;

/** Creates the acknowledgements of one INVITE. */
export function createReliableProvisionals(deps: {
  /** The early dialog of a response; null if it cannot be created. */
  dialogOf(response: SipResponse): Promise<SipDialog | null>;
  /** Sends PRACK with this RAck. */
  acknowledge(dialog: SipDialog, rack: string): void;
}): ReliableProvisionals {
  const forks = new Map<string, { last: number; dialog: Promise<SipDialog | null> }>();
  return {
    isReliable: (response) => sequenceOf(response) !== null,
    handle(response, remoteTag) {
      const number = sequenceOf(response);
      if (number === null || remoteTag === "") return;
      const known = forks.get(remoteTag);
      // One that is out of order is repeated until the one before it is acknowledged.
      if (known ? number !== known.last + 1 : forks.size >= MAX_FORKS) return;
      const dialog = known?.dialog ?? deps.dialogOf(response);
      forks.set(remoteTag, { last: number, dialog });
      const { number: invite, method } = cseqOf(response);
      void dialog.then((early) => early && deps.acknowledge(early, `${number} ${invite} ${method}`));
    },
  };
}

/** Number of a reliable provisional response; null if it is not reliable. */
function sequenceOf(response: SipResponse): number | null {
  const isRequired = headerValues(response, "Require").some((tag) => tag.toLowerCase() === "100rel");
  const number = firstHeader(response, "RSeq")?.trim() ?? "";
  return isRequired && response.status > 100 && /^\d{1,10}$/.test(number) ? Number(number) : null;
}
