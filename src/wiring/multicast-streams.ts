import type { Events, MulticastStream } from "../lib/events.ts";
import { isMulticastAddress } from "../lib/network-route.ts";
import type { Streamer } from "../media/streamer.ts";

/** Emits `multicast.changed` whenever a stream to a multicast group begins, ends or is sent from another address. */
export function announceMulticastStreams(streamer: Pick<Streamer, "on">, events: Pick<Events, "emit">): void {
  const streams = new Map<string, MulticastStream>();
  const announce = (): void => events.emit("multicast.changed", { streams: [...streams.values()] });
  streamer.on("routed", ({ streamId, group, port, ssrc, source }) => {
    if (!isMulticastAddress(group)) return;
    if (source === null) streams.delete(streamId);
    else streams.set(streamId, { group, port, ssrc, source });
    announce();
  });
  streamer.on("ended", ({ streamId }) => {
    if (streams.delete(streamId)) announce();
  });
}
