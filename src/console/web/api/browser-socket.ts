import type { LiveFeedOptions } from "./live-feed.ts";

/** Opens a WebSocket of the browser to the page's own host. */
export const openSocket: LiveFeedOptions["open"] = (address, on) => {
  const url = new URL(address, location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(url);
  socket.onmessage = ({ data }) => on.message(String(data));
  socket.onclose = () => on.end();
  return { close: () => socket.close() };
};
