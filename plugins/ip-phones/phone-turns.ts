import type { Clock } from "#plugin-api";

/** A conversation with one phone; it must not reject. */
export type Conversation = () => Promise<void>;

/** Has conversations with phones: many at once, one at a time with each phone, the urgent ones first. */
export interface PhoneTurns {
  /**
   * Queues a conversation. `lane` 0 goes first … 10 last; with the same phone (`key`) they keep their order whatever
   * their lane, so that a stop never overtakes its start.
   */
  add(lane: number, key: string, conversation: Conversation): void;
}

/** Limits of the conversations that go on at once. */
export interface TurnLimits {
  /** All lanes but the last together, as things stand now. */
  lanes(): number;
  /** Beyond them for emergencies, which wait for no phones that are slow with something else; none unless given. */
  urgent?: number;
  /** The last lane, so that it goes on, slowly, while the others are busy; a small part of it just after an emergency. */
  lastLane: number;
}

/** Lane of questions that nobody waits for. */
export const LAST_LANE = 10;

/** Lane of emergencies. */
const URGENT_LANE = 0;

/** So long after an emergency was begun to be told to a phone, the last lane has this part of its conversations. own choice */
const URGENT_MS = 1_000;
const BESIDE_URGENT = 1 / 32;

/** How long conversations are started before other work of the thread gets its turn, in ms. */
const SLICE_MS = 3;

interface Turn {
  readonly lane: number;
  readonly key: string;
  readonly conversation: Conversation;
  begun: boolean;
}

/** Makes the queue; what a conversation throws against its word goes to `onError`. */
export function createPhoneTurns(clock: Clock, limits: TurnLimits, onError: (error: unknown) => void): PhoneTurns {
  const lanes: Turn[][] = Array.from({ length: LAST_LANE + 1 }, () => []);
  /** The turns of each phone that has any, the one that is going on or queued first. */
  const phones = new Map<string, Turn[]>();
  let going = 0;
  let goingLast = 0;
  let scheduled = false;

  let urgentAt = Number.NEGATIVE_INFINITY;

  const lastLane = (): number =>
    clock.monotonicMs() - urgentAt < URGENT_MS ? limits.lastLane * BESIDE_URGENT : limits.lastLane;
  const next = (): Turn | undefined => {
    const isOpen = (lane: number): boolean => {
      if (lane === LAST_LANE) return goingLast < lastLane();
      return going < limits.lanes() + (lane === URGENT_LANE ? (limits.urgent ?? 0) : 0);
    };
    return lanes.find((queue, lane) => queue.length > 0 && isOpen(lane))?.shift();
  };
  const startSome = (): void => {
    scheduled = false;
    const until = clock.monotonicMs() + SLICE_MS;
    for (let turn = next(); turn; turn = next()) {
      // One that was moved to a more urgent lane still stands in its old one.
      if (!turn.begun) begin(turn);
      if (clock.monotonicMs() < until) continue;
      schedule();
      break;
    }
  };
  const schedule = (): void => {
    if (!scheduled) clock.soon(startSome);
    scheduled = true;
  };
  const begin = (turn: Turn): void => {
    const isLast = turn.lane === LAST_LANE;
    turn.begun = true;
    if (turn.lane === URGENT_LANE) urgentAt = clock.monotonicMs();
    if (isLast) goingLast++;
    else going++;
    void turn
      .conversation()
      .catch(onError)
      .then(() => {
        if (isLast) goingLast--;
        else going--;
        end(turn);
      });
  };
  const end = (turn: Turn): void => {
    const turns = phones.get(turn.key) ?? [];
    turns.shift();
    const [following] = turns;
    if (following) queue(following, Math.min(...turns.map(({ lane }) => lane)));
    else phones.delete(turn.key);
    schedule();
  };
  const queue = (turn: Turn, lane: number): void => {
    lanes[lane]?.push(turn);
    schedule();
  };
  return {
    add(lane, key, conversation) {
      const turn: Turn = { lane, key, conversation, begun: false };
      const turns = phones.get(key);
      if (!turns) {
        phones.set(key, [turn]);
        return queue(turn, lane);
      }
      // What the urgent one must wait for becomes as urgent.
      const [first] = turns;
      if (first && !first.begun && turns.every((other) => other.lane > lane)) queue(first, lane);
      turns.push(turn);
    },
  };
}
