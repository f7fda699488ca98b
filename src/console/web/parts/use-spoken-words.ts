import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useConsole } from "../console-context.tsx";

/** Words that are spoken to whoever listens at the browser. */
export interface SpokenWords {
  speak(message: object): void;
  stop(): void;
  /** They are being made. */
  isPending: boolean;
  isPlaying: boolean;
  error: unknown;
}

/** Has words spoken by the appliance, as devices would hear them, and plays them here; leaving the page ends it. */
export function useSpokenWords(): SpokenWords {
  const { client } = useConsole();
  const player = useRef<HTMLAudioElement | null>(null);
  const [isPlaying, setPlaying] = useState(false);
  const stop = () => {
    player.current?.pause();
    if (player.current) URL.revokeObjectURL(player.current.src);
    player.current = null;
    setPlaying(false);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page is left
  useEffect(() => stop, []);
  const speaking = useMutation({
    mutationFn: async (message: object) => {
      const { audioHash } = await client.post<{ audioHash: string }>("tts", {}, message);
      return client.bytes("tts/{audioHash}", { audioHash });
    },
    onSuccess(sound) {
      stop();
      const audio = new Audio(URL.createObjectURL(sound));
      player.current = audio;
      audio.onended = stop;
      setPlaying(true);
      audio.play().catch(stop);
    },
  });
  return {
    speak: (message) => speaking.mutate(message),
    stop,
    isPending: speaking.isPending,
    isPlaying,
    error: speaking.error,
  };
}
