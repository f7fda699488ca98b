import { useEffect, useRef, useState } from "react";

/** A sound that plays in the browser; another ends it, and so does leaving the page. */
export function useSound() {
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
  const play = (sound: Blob) => {
    stop();
    const audio = new Audio(URL.createObjectURL(sound));
    player.current = audio;
    audio.onended = stop;
    setPlaying(true);
    audio.play().catch(stop);
  };
  return { play, stop, isPlaying };
}
