import { randomInt, timingSafeEqual } from "node:crypto";
import type { AccountMessageSender } from "../auth/account-mails.ts";
import { readBranding } from "../auth/branding.ts";
import { hashToken } from "../auth/tokens.ts";
import { setBounded } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import { ConflictError, invalidValue, TooManyRequestsError, UpstreamError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { CORE_CATALOGUE, sentence, sentenceLanguage } from "../lib/sentences/sentences.ts";
import { fullBucket, type TokenBucket, type TokenBucketRate, takeToken } from "../lib/token-bucket.ts";
import userDevices from "../resources/people/user-devices.ts";
import type users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store } from "../store/store.ts";
import type { ContactChannels } from "./contact-proofs.ts";
import { contactChannelOf } from "./own-address-hooks.ts";
import { type PhoneNumberPolicy, phoneNumberProblem } from "./phone-number-policy.ts";
import { parsePhoneNumber } from "./phone-numbers.ts";

type DeviceRow = RowOf<typeof userDevices>;
type UserRow = Pick<RowOf<typeof users>, "id" | "name" | "preferredLanguage">;

/**
 * Proofs of addresses that users add to their own account: a code is sent to the address and entered again.
 * @source docs/decisions/0765-proof-of-own-addresses.md
 */
export interface AddressProofs {
  /**
   * Sends a new code; the former one is void. Throws ConflictError for an address that awaits none, invalid-value for a number
   * that is not allowed, TooManyRequestsError, UpstreamError when the code cannot be sent.
   */
  sendCode(user: UserRow, device: DeviceRow): Promise<void>;
  /**
   * Takes the code: the address is verified. Throws ConflictError for an address that awaits none, invalid-value for a wrong
   * code or one that is void.
   */
  verify(device: DeviceRow, code: string): Promise<void>;
}

export interface AddressProofDeps {
  store: Store;
  clock: Clock;
  log: Log;
  channels: ContactChannels;
  policy: PhoneNumberPolicy;
  /** Actor of verifications. */
  by: ActorContext;
}

interface SentCode {
  hash: Buffer;
  address: string;
  /** Monotonic ms. */
  expiresAt: number;
  guessesLeft: number;
}

const CODE_DIGITS = 6;
const CODE_MS = 10 * 60_000;
const MAX_GUESSES = 5;
const DAY_MS = 86_400_000;
/** Codes of one account and to one address: some at once, then some a day. */
const PER_ACCOUNT: TokenBucketRate = { capacity: 5, perMs: 5 / DAY_MS };
const PER_ADDRESS: TokenBucketRate = { capacity: 3, perMs: 3 / DAY_MS };
const PER_APPLIANCE: TokenBucketRate = { capacity: 60, perMs: 1 / 10_000 };
const MAX_KEYS = 10_000;

/** Creates the proofs; codes and limits are kept in memory. */
export function createAddressProofs({ store, clock, log, channels, policy, by }: AddressProofDeps): AddressProofs {
  const codes = new Map<string, SentCode>();
  const accounts = new Map<string, TokenBucket>();
  const addresses = new Map<string, TokenBucket>();
  const all = fullBucket(PER_APPLIANCE, clock.monotonicMs());

  const take = (buckets: Map<string, TokenBucket>, key: string, rate: TokenBucketRate): void => {
    const now = clock.monotonicMs();
    const bucket = buckets.get(key) ?? fullBucket(rate, now);
    setBounded(buckets, key, bucket, MAX_KEYS);
    throwIfLate(takeToken(bucket, rate, now));
  };
  const requireAwaiting = (device: DeviceRow): { address: string; channel: "mail" | "text" } => {
    const channel = contactChannelOf(device);
    const { deviceIdentifier: address, awaitsVerification } = device;
    if (!awaitsVerification || channel === null || address === null)
      throw new ConflictError(sentence("conflict.the-address-awaits-no-code"));
    return { address, channel };
  };

  return {
    async sendCode(user, device) {
      const { address, channel } = requireAwaiting(device);
      const problem = channel === "text" ? phoneNumberProblem(address, policy) : null;
      if (problem !== null) throw invalidValue("deviceIdentifier", problem);
      const sender = channels[channel];
      if (!sender.isAvailable())
        throw new ConflictError(sentence("conflict.the-channel-of-the-address-sends-no-codes"));
      take(accounts, user.id, PER_ACCOUNT);
      take(addresses, addressKey(address, channel, policy.country), PER_ADDRESS);
      throwIfLate(takeToken(all, PER_APPLIANCE, clock.monotonicMs()));
      const code = String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, "0");
      const sent = { hash: hashOf(device.id, code), address, guessesLeft: MAX_GUESSES };
      setBounded(codes, device.id, { ...sent, expiresAt: clock.monotonicMs() + CODE_MS }, MAX_KEYS);
      const reason = await send(sender, user, address, code);
      const about = { userId: user.id, userDeviceId: device.id };
      if (reason === null) return log.info({ event: "address_code.sent", ...about }, "code for an address sent");
      codes.delete(device.id);
      log.warn({ event: "address_code.failed", ...about, reason }, "code for an address not sent");
      throw new UpstreamError(
        "upstream",
        sentence("people.the-message-to-to-could-not-be-sent-reason", { to: address, reason }),
      );
    },
    async verify(device, code) {
      const { address } = requireAwaiting(device);
      const sent = codes.get(device.id);
      if (!sent || sent.address !== address || clock.monotonicMs() >= sent.expiresAt || sent.guessesLeft <= 0)
        throw invalidValue("code", sentence("field.is-no-longer-valid-have-a-new-code-sent"));
      sent.guessesLeft--;
      if (!timingSafeEqual(sent.hash, hashOf(device.id, code.replace(/\s/g, ""))))
        throw invalidValue("code", sentence("field.must-be-the-code-that-was-sent-to-the-address"));
      codes.delete(device.id);
      await store.write((tx) => {
        const row = tx.get(userDevices, device.id);
        // It was changed in the meantime.
        if (!row?.awaitsVerification || row.deviceIdentifier !== address)
          throw new ConflictError(sentence("conflict.the-address-awaits-no-code"));
        tx.update(userDevices, device.id, { verified: true }, by, { awaitsVerification: false });
      });
    },
  };

  function send(sender: AccountMessageSender, user: UserRow, to: string, code: string): Promise<string | null> {
    const language = sentenceLanguage(user.preferredLanguage) ?? "en";
    const render = CORE_CATALOGUE.render[language];
    const company = readBranding(store).companyName ?? "Carillon";
    const subject = render("address-proof.subject", { company });
    return sender.send({
      to,
      name: user.name,
      language,
      subject,
      text: render("address-proof.text", { company, code }),
    });
  }
}

function throwIfLate(waitMs: number): void {
  if (waitMs > 0) throw new TooManyRequestsError(Math.ceil(waitMs / 1_000));
}

/** One key for all spellings of an address. */
function addressKey(address: string, channel: "mail" | "text", country: string | null): string {
  if (channel === "text") return parsePhoneNumber(address, "deviceIdentifier", country);
  // Many mail servers ignore what follows a plus.
  return address
    .trim()
    .toLowerCase()
    .replace(/\+[^@]*(?=@)/, "");
}

function hashOf(deviceId: string, code: string): Buffer {
  return Buffer.from(hashToken(`${deviceId} ${code}`));
}
