import { useMutation } from "@tanstack/react-query";
import { useConsole } from "../console-context.tsx";
import { useSound } from "./use-sound.ts";

/** Text that is spoken in the browser. */
export interface SpeechPreview {
  speak(message: object): void;
  stop(): void;
  /** They are being made. */
  isPending: boolean;
  isPlaying: boolean;
  error: unknown;
}

/** Has the appliance speak a text and plays it in the browser; leaving the page stops it. */
export function useSpeechPreview(): SpeechPreview {
  const { client } = useConsole();
  const { play, stop, isPlaying } = useSound();
  const speaking = useMutation({
    mutationFn: async (message: object) => {
      const { audioHash } = await client.post<{ audioHash: string }>("tts", {}, message);
      return client.bytes("tts/{audioHash}", { audioHash });
    },
    onSuccess: play,
  });
  return {
    speak: (message) => speaking.mutate(message),
    stop,
    isPending: speaking.isPending,
    isPlaying,
    error: speaking.error,
  };
}
