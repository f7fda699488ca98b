import { browserClock } from "../browser-clock.ts";
import { createAlertSound } from "../inbox/alert-sound.ts";
import { createInboxClient, type Person } from "../inbox/api/client.ts";
import { element } from "../inbox/element.ts";
import { invitationIn, showLogIn } from "../inbox/log-in.ts";
import { inboxMessages } from "../inbox/messages.ts";
import { browserName } from "../inbox/this-device.ts";
import { createScreenClient, runsOf, type Screen, type Screening } from "./screen.ts";
import "../inbox/inbox.css";

/** Where the browser keeps the desktop's secret. */
const STORED = "carillon-desktop";
/** Pause before the next request after an error or an early response without news. */
const REFRESH_INTERVAL_MS = 1_000;

const words = inboxMessages(navigator.languages);
const { t } = words;
const browserFetch = (address: string, init: RequestInit): Promise<Response> => fetch(address, init);
const client = createInboxClient(browserFetch);
const screens = createScreenClient(browserFetch);
const place = document.getElementById("desktop") as HTMLElement;
const state = element("p", { role: "status", class: "soft" });
const stage = element("section", { "aria-live": "assertive" });
const sound = createAlertSound();
/** Deliveries that were shown, and those that somebody has closed. */
const [shown, closed] = [new Set<number>(), new Set<number>()];

async function begin(): Promise<void> {
  document.documentElement.lang = words.language;
  document.title = t("desk-title");
  const code = invitationIn(location.hash);
  if (code !== null) history.replaceState(null, "", location.pathname);
  const token = await registered(await enter(code));
  const unlock = (): void => {
    void sound.unlock();
    void document.documentElement.requestFullscreen?.().catch(() => undefined);
  };
  place.replaceChildren(
    element("h1", {}, t("desk-title")),
    state,
    element("p", {}, element("button", { class: "plain", click: unlock }, t("full-screen"))),
    stage,
  );
  await follow(token);
}

async function enter(code: string | null): Promise<Person> {
  const known = await client.person();
  if (known) return known;
  const deviceName = browserName(navigator.userAgent);
  const isIn =
    code !== null &&
    (await client.accept(code, deviceName).then(
      () => true,
      () => false,
    ));
  if (!isIn) await showLogIn(place, code, { client, words, deviceName });
  return enter(null);
}

/** The desktop's secret; the desktop becomes a device of the person unless it is one. */
async function registered({ userId }: Person): Promise<string> {
  const kept = localStorage.getItem(STORED);
  const own = kept ? (JSON.parse(kept) as { token: string; deviceIdentifier: string }) : await screens.token();
  localStorage.setItem(STORED, JSON.stringify(own));
  const devices = await client.devices(userId);
  if (!devices.some(({ deviceIdentifier }) => deviceIdentifier === own.deviceIdentifier)) {
    const { userAgent } = navigator;
    const name = browserName(userAgent);
    const device = { type: "desktop", name, client: "desktop", os: userAgent.slice(0, 255) } as const;
    await client.addDevice(userId, { ...device, deviceIdentifier: own.deviceIdentifier });
  }
  return own.token;
}

/** Shows what there is to show, for ever. */
async function follow(token: string): Promise<never> {
  let version = "";
  let lostAt: number | null = null;
  for (;;) {
    const askedAt = browserClock.now();
    try {
      const screen: Screen = await screens.screen(token, version);
      if (screen.version !== version) draw(screen, token);
      else if (browserClock.now() - askedAt < REFRESH_INTERVAL_MS) await pause();
      ({ version } = screen);
      lostAt = null;
      state.textContent = t("connected");
    } catch {
      lostAt ??= browserClock.now();
      state.textContent = t("waiting", { when: words.at(lostAt) });
      await pause();
    }
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => browserClock.after(REFRESH_INTERVAL_MS, resolve));
}

function draw({ messages }: Screen, token: string): void {
  const open = messages.filter(({ deliveryId }) => !closed.has(deliveryId));
  stage.replaceChildren(
    ...open.slice(0, 1).map((message) => sheet(message, token, () => draw({ version: "", messages }, token))),
  );
  for (const message of open) {
    if (shown.has(message.deliveryId)) continue;
    shown.add(message.deliveryId);
    sound.play(message.emergency && !message.drill ? "emergency" : "routine");
  }
  const [front] = open;
  // The first message hides the others.
  if (front) void screens.shown(token, front.deliveryId).catch(() => undefined);
}

/** The text, which runs across the screen as the message says, but for people who want nothing to move. */
function running(text: string, scroll: Screening["scroll"]): HTMLElement {
  const line = element("span", {}, text);
  if (!scroll || matchMedia("(prefers-reduced-motion: reduce)").matches) return line;
  line.classList.add("runs");
  const { eachMs, runs } = runsOf(scroll, text.length);
  const frames = [{ transform: "translateX(100vw)" }, { transform: "translateX(-100%)" }];
  const stand = (): void => line.classList.remove("runs");
  line.animate(frames, { duration: eachMs, iterations: runs }).finished.then(stand, stand);
  return line;
}

/** The message over the whole screen. */
function sheet(message: Screening, token: string, redraw: () => void): HTMLElement {
  const { deliveryId, subject, body, emergency, drill, sentAt, options, scroll } = message;
  const told = element("p", { role: "status" });
  const press = (option: string) => () => {
    screens.answer(token, deliveryId, option).then(
      ({ reply, message: why }) => {
        told.textContent = why ? t("refused", { why }) : `${t("answered", { option })} ${reply ?? ""}`;
      },
      () => {
        told.textContent = t("unreachable");
      },
    );
  };
  const close = (): void => {
    closed.add(deliveryId);
    redraw();
  };
  const isUrgent = emergency && !drill;
  const heading = isUrgent ? `${t("emergency")}: ${subject}` : subject;
  return element(
    "article",
    { class: isUrgent ? "full emergency" : "full", "aria-labelledby": "subject" },
    drill ? element("p", { class: "drill" }, t("drill")) : null,
    element("h1", { id: "subject" }, body === "" ? running(heading, scroll) : heading),
    body === "" ? null : element("p", { class: "text" }, running(body, scroll)),
    element("p", { class: "soft" }, t("from", { when: words.at(sentAt) })),
    ...options.map((option) => element("button", { click: press(option) }, option)),
    told,
    element("p", {}, element("button", { class: "plain", click: close }, t("close"))),
  );
}

begin().catch(() => {
  place.replaceChildren(element("h1", {}, t("desk-title")), element("p", { role: "alert" }, t("unreachable")));
  browserClock.after(REFRESH_INTERVAL_MS * 10, () => location.reload());
});
