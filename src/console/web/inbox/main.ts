import { CallerError } from "../../../lib/errors.ts";
import { browserClock } from "../browser-clock.ts";
import { createAlertSound } from "./alert-sound.ts";
import { createInboxClient, type OwnDevice, type OwnMessage, type OwnOptOut, type Person } from "./api/client.ts";
import { element } from "./element.ts";
import { invitationIn, showLogIn } from "./log-in.ts";
import { messageCard, pressButton } from "./message-card.ts";
import { inboxMessages } from "./messages.ts";
import {
  browserName,
  type PushState,
  pushState,
  startWorker,
  switchOff,
  switchOn,
  type ThisDeviceOptions,
} from "./this-device.ts";
import "./inbox.css";

/** Poll interval of an open page; a push message triggers a poll at once. */
const ASK_MS = 10_000;
/** Minimum interval between two position reports. */
const TELL_MS = 60_000;
/** An older message makes no sound when the page becomes visible again. */
const HEARD_MS = 600_000;
/** Storage key of the consent to share the position. */
const SHARES = "carillon-shares-location";

const words = inboxMessages(navigator.languages);
const { t } = words;
const client = createInboxClient((address, init) => fetch(address, init));
const place = document.getElementById("inbox") as HTMLElement;
const list = element("section", { "aria-label": t("title"), "aria-live": "polite" });
/** What was declined, while there is something. */
const declined = element("div");
const trouble = element("p", { role: "status", class: "bad" });

/** Reads the session, then shows the page to the user. */
async function begin(): Promise<void> {
  document.documentElement.lang = words.language;
  document.title = t("title");
  const code = invitationIn(location.hash);
  if (code !== null) history.replaceState(null, "", location.pathname);
  const person = (await client.person()) ?? (await enter(code));
  await show(person);
}

async function enter(code: string | null): Promise<Person> {
  const deviceName = browserName(navigator.userAgent);
  const isIn =
    code !== null &&
    (await client.accept(code, deviceName).then(
      () => true,
      () => false,
    ));
  if (!isIn) await showLogIn(place, code, { client, words, deviceName });
  const person = await client.person();
  return person ?? enter(null);
}

async function show(person: Person): Promise<void> {
  const sound = createAlertSound();
  const device = element("section", { class: "card", "aria-label": t("device") });
  const leave = (): void => void client.logOut().finally(() => location.reload());
  place.replaceChildren(
    element("h1", {}, t("title")),
    trouble,
    list,
    declined,
    device,
    element(
      "p",
      { class: "soft" },
      `${person.name} `,
      element("button", { class: "plain", click: leave }, t("log-out")),
    ),
  );
  const refresh = follow(person, sound);
  navigator.serviceWorker?.addEventListener("message", refresh);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && refresh());
  browserClock.every(ASK_MS, () => document.visibilityState === "visible" && refresh());
  refresh();
  await showDevice(device, person, sound);
}

/** Shows messages and plays a sound for new ones; the returned function polls at once. */
function follow({ userId }: Person, sound: ReturnType<typeof createAlertSound>): () => void {
  const known = new Set<string>();
  let drawn = "";
  let isAsking = false;
  const draw = (messages: readonly OwnMessage[]): void => {
    const cards = messages.map((message) =>
      messageCard(message, {
        ...{ words, image: client.imageOf(userId, message.id), now: browserClock.now() },
        answer: (option) => client.answer(userId, message.id, option).then(ask),
        decline: () => client.decline(userId, message.id).then(ask),
      }),
    );
    list.replaceChildren(...(cards.length > 0 ? cards : [element("p", { class: "soft" }, t("none"))]));
    document.getElementById(`m-${location.hash.slice(1)}`)?.scrollIntoView();
  };
  const drawDeclined = (optOuts: readonly OwnOptOut[]): void => {
    const takeBack = async (id: string): Promise<void> => {
      await client.takeBack(userId, id);
      drawn = "";
      await ask();
    };
    declined.replaceChildren(...declinedCard(optOuts, takeBack));
  };
  const ask = async (): Promise<void> => {
    const messages = await client.messages(userId);
    const state = JSON.stringify(messages);
    const isNew = state !== drawn;
    if (isNew) draw(messages);
    for (const message of messages) if (!known.has(message.id)) hear(message);
    if (document.visibilityState === "visible") {
      for (const { id, readTimestamp } of messages) if (readTimestamp === null) await client.setRead(userId, id);
    }
    // Opt-outs change together with the messages.
    if (isNew) drawDeclined(await client.optOuts(userId));
    drawn = state;
  };
  const hear = (message: OwnMessage): void => {
    known.add(message.id);
    const isNew = message.readTimestamp === null && browserClock.now() - Date.parse(message.createdAt) < HEARD_MS;
    if (isNew) sound.play(message.priority === "critical" && !message.drill ? "emergency" : "routine");
  };
  return () => {
    if (isAsking) return;
    isAsking = true;
    ask()
      .then(
        () => (trouble.textContent = ""),
        (error) => {
          // The device was logged out elsewhere: it asks who somebody is.
          if (error instanceof CallerError && error.type === "unauthorized") location.reload();
          else trouble.textContent = t("unreachable");
        },
      )
      .finally(() => (isAsking = false));
  };
}

/** What was declined, with the way back; nothing where nothing was. */
function declinedCard(optOuts: readonly OwnOptOut[], takeBack: (id: string) => Promise<void>): HTMLElement[] {
  const held = optOuts.filter(({ holds }) => holds);
  if (held.length === 0) return [];
  const fault = element("p", { role: "alert", class: "bad" });
  const lines = held.map(({ id, subject }) => {
    const name = t("take-back-named", { subject: subject ?? "" });
    return element(
      "p",
      {},
      `${subject ?? ""} `,
      pressButton(t("take-back"), () => takeBack(id), { t, fault, name }),
    );
  });
  const title = t("declined-title");
  return [element("section", { class: "card", "aria-label": title }, element("h2", {}, title), ...lines, fault)];
}

async function showDevice(
  section: HTMLElement,
  { userId }: Person,
  sound: ReturnType<typeof createAlertSound>,
): Promise<void> {
  const needs: ThisDeviceOptions = { client, userId, userAgent: navigator.userAgent };
  const worker = await startWorker().catch(() => null);
  const sharing = createSharing(userId);
  const button = (word: Parameters<typeof t>[0], press: () => Promise<unknown>): HTMLElement =>
    element("button", { class: "plain", click: () => void press() }, t(word));
  const draw = (state: PushState): void => {
    const change = (next: Promise<PushState>): Promise<void> => next.then(draw, () => draw(state));
    const device = state.kind === "on" ? state.device : null;
    sharing.of(device);
    section.replaceChildren(
      element("h2", {}, t("device")),
      ...(sound.isUnlocked
        ? [element("p", { class: "soft" }, t("sound-is-on"))]
        : [button("sound-on", () => sound.unlock().then(() => draw(state)))]),
      ...(state.kind === "unable" ? [element("p", { class: "soft" }, t(state.word))] : []),
      ...(state.kind === "off" && worker ? [button("push-on", () => change(switchOn(worker, needs)))] : []),
      ...(device && worker
        ? [
            element("p", { class: "soft" }, t("push-is-on")),
            button("push-off", () => change(switchOff(worker, device, needs))),
            button(sharing.isOn() ? "share-off" : "share-on", async () => {
              sharing.turn(device);
              draw(state);
            }),
            sharing.isOn() ? element("p", { class: "soft" }, t("share-is")) : "",
          ]
        : []),
    );
  };
  draw(await pushState(worker, needs).catch((): PushState => ({ kind: "unable", word: "unreachable" })));
}

/** Tells the appliance where the device is, as long as its owner allows it and the page is open. */
function createSharing(userId: string) {
  let watch: number | null = null;
  let toldAt = 0;
  const stop = (): void => {
    if (watch !== null) navigator.geolocation.clearWatch(watch);
    watch = null;
  };
  const isOn = (): boolean => localStorage.getItem(SHARES) === "yes";
  const of = (device: OwnDevice | null): void => {
    if (device === null || !isOn()) {
      stop();
      return;
    }
    if (watch !== null) return;
    watch = navigator.geolocation.watchPosition(
      ({ coords: { latitude, longitude, accuracy } }) => {
        if (browserClock.now() - toldAt < TELL_MS) return;
        toldAt = browserClock.now();
        void client
          .tellLocation(userId, device.id, { latitude, longitude, accuracyInM: Math.ceil(accuracy) })
          .catch(() => (toldAt = 0));
      },
      () => {
        stop();
        trouble.textContent = t("share-denied");
      },
    );
  };
  return {
    isOn,
    of,
    turn(device: OwnDevice): void {
      localStorage.setItem(SHARES, isOn() ? "no" : "yes");
      of(device);
    },
  };
}

begin().catch(() => {
  place.replaceChildren(element("h1", {}, t("title")), element("p", { role: "alert" }, t("unreachable")));
  browserClock.after(ASK_MS, () => location.reload());
});
