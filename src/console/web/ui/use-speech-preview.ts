import { useMutation } from "@tanstack/react-query";
import { useConsole } from "../console-context.tsx";
import { useSound } from "./use-sound.ts";

/** Words that are spoken to whoever listens at the browser. */
export interface SpeechPreview {
  speak(message: object): void;
  stop(): void;
  /** They are being made. */
  isPending: boolean;
  isPlaying: boolean;
  error: unknown;
}

/** Has words spoken by the appliance, as devices would hear them, and plays them here; leaving the page ends it. */
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
