/** A message that a desktop is to show. @source plugins/desktop, Screening */
export interface Screening {
  deliveryId: number;
  notificationId: string;
  subject: string;
  body: string;
  emergency: boolean;
  drill: boolean;
  sentAt: number;
  options: readonly string[];
  /** How the text runs across: characters a second, and when it stands still; null where it does at once. */
  scroll?: Scroll | null;
}

/** How text runs across. @source plugins/desktop, Screening */
interface Scroll {
  speed: number | null;
  durationMs: number | null;
  repetitions: number | null;
}

/** Characters per second; easy to read on a wall display. */
const USUAL_SPEED = 8;
/** Characters per second; a faster text flickers. */
const MAX_SPEED = 50;

/** How long one run of so many characters takes, and how many there are; the last may be a part of one. */
export function runsOf(
  { speed, durationMs, repetitions }: Scroll,
  characters: number,
): { eachMs: number; runs: number } {
  const eachMs = (Math.max(1, characters) * 1_000) / Math.min(MAX_SPEED, speed ?? USUAL_SPEED);
  const inTime = durationMs === null ? Number.POSITIVE_INFINITY : durationMs / eachMs;
  return { eachMs, runs: Math.min(inTime, repetitions ?? Number.POSITIVE_INFINITY) };
}

/** What is to be shown now. @source plugins/desktop, Screen */
export interface Screen {
  version: string;
  messages: readonly Screening[];
}

/** The desktop's side of the plugin's routes; each call rejects when the appliance can't be reached. */
export interface ScreenClient {
  /** A new secret, and the identifier of the device that it belongs to. */
  token(): Promise<{ token: string; deviceIdentifier: string }>;
  /** Waits for something else than `version`, for some seconds. */
  screen(token: string, version: string): Promise<Screen>;
  shown(token: string, deliveryId: number): Promise<void>;
  /** Gives what the person is to be told, or why the answer was not taken. */
  answer(token: string, deliveryId: number, option: string): Promise<{ reply?: string | null; message?: string }>;
}

/** Makes it; `fetch` is the browser's. */
export function createScreenClient(fetch: (address: string, init: RequestInit) => Promise<Response>): ScreenClient {
  const ask = async (path: string, said: object): Promise<unknown> => {
    const response = await fetch(`/x/desktop/${path}`, { method: "POST", body: JSON.stringify(said) });
    const text = await response.text();
    if (response.ok || response.status === 409) return text === "" ? {} : JSON.parse(text);
    return Promise.reject(response.status);
  };
  return {
    token: () => ask("token", {}) as ReturnType<ScreenClient["token"]>,
    screen: (token, version) => ask("screen", { token, version }) as Promise<Screen>,
    shown: async (token, deliveryId) => void (await ask("receipt", { token, deliveryId })),
    answer: (token, deliveryId, option) =>
      ask("receipt", { token, deliveryId, option }) as ReturnType<ScreenClient["answer"]>,
  };
}
