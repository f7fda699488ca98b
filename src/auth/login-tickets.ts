import { setBounded } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import { generateToken } from "./tokens.ts";

/** A log-in whose password was right, and which needs a second factor. */
export interface TicketedLogin {
  userId: string;
  /** `passwordChangedAt` of the user: a new password ends the log-in. */
  passwordVersion: number | null;
  /** The password, for the cloud's proof after the second factor; null if none is wanted. */
  password: string | null;
  /** Hash of the new password of a user who must set one. */
  newPasswordHash: string | null;
  /** Wrong codes so far. */
  attempts: number;
}

/**
 * Tickets of log-ins that wait for the second factor. A ticket is no session: all it allows is to try codes, of one
 * account, for five minutes and five times. @source docs/decisions/0483-second-factors.md
 */
export interface LoginTickets {
  issue(login: Omit<TicketedLogin, "attempts">): string;
  /** Null for a ticket that is unknown, expired or used up. */
  find(ticket: string): TicketedLogin | null;
  /** Counts a wrong code; the last one ends the ticket. */
  countFailure(ticket: string): void;
  end(ticket: string): void;
}

/** Time to find the phone and type a code. */
export const LOGIN_TICKET_MS = 300_000;
const MAX_CODES_PER_TICKET = 5;
/** The oldest has to log in again. */
const MAX_TICKETS = 1_000;
/** Who knows one password cannot end the log-ins of others. */
const MAX_TICKETS_PER_USER = 20;

/** Creates the tickets; they are kept in memory, with a timer that forgets their passwords. */
export function createLoginTickets(clock: Clock): LoginTickets {
  const pending = new Map<string, TicketedLogin>();
  return {
    issue(login) {
      const own = [...pending].filter(([, { userId }]) => userId === login.userId);
      for (const [ticket] of own.slice(0, Math.max(0, own.length - MAX_TICKETS_PER_USER + 1))) pending.delete(ticket);
      const { token } = generateToken();
      setBounded(pending, token, { ...login, attempts: 0 }, MAX_TICKETS);
      clock.after(LOGIN_TICKET_MS, () => void pending.delete(token), { background: true });
      return token;
    },
    find: (ticket) => pending.get(ticket) ?? null,
    countFailure(ticket) {
      const login = pending.get(ticket);
      if (!login) return;
      login.attempts += 1;
      if (login.attempts >= MAX_CODES_PER_TICKET) pending.delete(ticket);
    },
    end: (ticket) => void pending.delete(ticket),
  };
}
