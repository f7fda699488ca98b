import { CallerError, UpstreamError } from "../../../../lib/errors.ts";

/** A message as its recipient sees it. @source API, `users/{userId}/notifications` */
export interface OwnMessage {
  id: string;
  subject: string | null;
  body: string | null;
  createdAt: string;
  expiresAt: string | null;
  abortedAt: string | null;
  priority: "critical" | "normal" | null;
  drill: boolean;
  /** Bytes of the picture; 0 without one. */
  image: number;
  imageAltText: string | null;
  confirmationRequest: { options: readonly string[] } | null;
  confirmationResponse: string | null;
  dynamicReplyText: string | null;
  readTimestamp: string | null;
  /** Further messages of its kind can be declined. */
  declinable: boolean;
  /** Set once they were. */
  optOutId: string | null;
}

/** Messages that the person has declined. */
export interface OwnOptOut {
  id: string;
  /** Subject of the message through which the user opted out. */
  subject: string | null;
  /** False while the appliance does not allow opt-outs. */
  holds: boolean;
}

/** A way to reach the person. */
export interface OwnDevice {
  id: string;
  type: string;
  deviceIdentifier: string | null;
  disabled: boolean;
  /** Why the channel switched it off; null where somebody did. */
  disabledReason: string | null;
}

/** What a device is registered with. */
export interface NewDevice {
  type: "web-push" | "desktop";
  name: string;
  deviceIdentifier: string;
  clientIdentifier?: string;
  client: string;
  os: string;
}

/** Who has logged in. */
export interface Person {
  userId: string;
  name: string;
}

/** The page's only API client; each call throws CallerError (the appliance refused) or UpstreamError (no answer). */
export interface InboxClient {
  /** Null if no user is logged in. */
  person(): Promise<Person | null>;
  /** Resolves to true when a second factor is needed, with `completeLogIn`. */
  logIn(email: string, password: string): Promise<boolean>;
  completeLogIn(code: string): Promise<void>;
  /** Logs the device in by an invitation. */
  accept(code: string, name: string): Promise<void>;
  logOut(): Promise<void>;
  /** Newest first. */
  messages(userId: string): Promise<OwnMessage[]>;
  imageOf(userId: string, messageId: string): string;
  setRead(userId: string, messageId: string): Promise<void>;
  answer(userId: string, messageId: string, option: string): Promise<void>;
  optOuts(userId: string): Promise<OwnOptOut[]>;
  /** Declines further messages like this one. */
  decline(userId: string, messageId: string): Promise<void>;
  takeBack(userId: string, optOutId: string): Promise<void>;
  devices(userId: string): Promise<OwnDevice[]>;
  addDevice(userId: string, device: NewDevice): Promise<OwnDevice>;
  changeDevice(userId: string, deviceId: string, change: Partial<NewDevice> & { disabled: boolean }): Promise<void>;
  removeDevice(userId: string, deviceId: string): Promise<void>;
  tellLocation(userId: string, deviceId: string, location: Location): Promise<void>;
  /** The public key that browsers subscribe with; null while push messages are switched off. */
  pushKey(): Promise<string | null>;
}

/** Where a device is. */
export interface Location {
  latitude: number;
  longitude: number;
  accuracyInM: number;
}

/** Messages shown at a time. */
const MAX_SHOWN = 50;

/** Creates the client. The browser sends the cookies. */
export function createInboxClient(fetch: (address: string, init: RequestInit) => Promise<Response>): InboxClient {
  const ask = async (method: string, address: string, body?: object): Promise<unknown> => {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const mark: Record<string, string> = method === "GET" ? {} : { "x-carillon-console": "1" };
    const init = { method, headers: { ...type, ...mark }, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(address, { ...init, credentials: "same-origin" }).catch((error) => {
      throw new UpstreamError("upstream", "", {}, error);
    });
    if (!response.ok) throw await errorKeyOf(response);
    return response.status === 204 ? null : response.json();
  };
  const read = <T>(address: string): Promise<T> => ask("GET", address) as Promise<T>;
  const own = (userId: string): string => `/api/v1/users/${userId}`;
  const act = async (userId: string, messageId: string, type: string, details: object): Promise<void> =>
    void (await ask("POST", `${own(userId)}/notifications/${messageId}/activities`, { type, details }));
  return {
    async person() {
      const { loggedIn } = await read<{ loggedIn: boolean }>("/api/setup");
      return loggedIn ? read<Person>("/api/v1/session") : null;
    },
    logIn: async (email, password) => (await ask("POST", "/api/login", { email, password })) !== null,
    completeLogIn: async (code) => void (await ask("POST", "/api/login/second-factor", { code })),
    accept: async (code, name) => void (await ask("POST", "/api/invitation", { code, name })),
    logOut: async () => void (await ask("DELETE", "/api/v1/session")),
    messages: async (userId) =>
      (await read<{ data: OwnMessage[] }>(`${own(userId)}/notifications?sort=-createdAt&limit=${MAX_SHOWN}`)).data,
    imageOf: (userId, messageId) => `${own(userId)}/notifications/${messageId}/image`,
    setRead: (userId, messageId) => act(userId, messageId, "set-read-status", { readStatus: "read" }),
    answer: (userId, messageId, confirmationOption) => act(userId, messageId, "confirmation", { confirmationOption }),
    optOuts: async (userId) =>
      (await read<{ data: OwnOptOut[] }>(`${own(userId)}/opt-outs?sort=-createdAt&limit=${MAX_SHOWN}`)).data,
    decline: async (userId, notificationId) => void (await ask("POST", `${own(userId)}/opt-outs`, { notificationId })),
    takeBack: async (userId, optOutId) => void (await ask("DELETE", `${own(userId)}/opt-outs/${optOutId}`)),
    devices: async (userId) => (await read<{ data: OwnDevice[] }>(`${own(userId)}/devices?limit=100`)).data,
    addDevice: (userId, device) => ask("POST", `${own(userId)}/devices`, device) as Promise<OwnDevice>,
    changeDevice: async (userId, deviceId, change) =>
      void (await ask("PUT", `${own(userId)}/devices/${deviceId}`, change)),
    removeDevice: async (userId, deviceId) => void (await ask("DELETE", `${own(userId)}/devices/${deviceId}`)),
    tellLocation: async (userId, deviceId, location) =>
      void (await ask("POST", `${own(userId)}/devices/${deviceId}/locations`, location)),
    async pushKey() {
      try {
        return (await read<{ publicKey: string }>("/x/web-push/key")).publicKey;
      } catch (error) {
        if (error instanceof CallerError) return null;
        throw error;
      }
    },
  };
}

async function errorKeyOf(response: Response): Promise<CallerError | UpstreamError> {
  const said = (await response.json().catch(() => ({}))) as { type?: string; message?: string };
  if (response.status >= 500) return new UpstreamError("upstream", said.message ?? "");
  return new CallerError((said.type ?? "invalid-value") as CallerError["type"], said.message ?? "");
}
