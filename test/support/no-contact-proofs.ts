import type { ContactProofs } from "../../src/people/contact-proofs.ts";

/** No channel is set up that could prove an address. */
export const NO_CONTACT_PROOFS: ContactProofs = {
  next: async () => null,
  read: () => null,
  redeem: () => {
    throw new Error("there is nothing to redeem");
  },
};
