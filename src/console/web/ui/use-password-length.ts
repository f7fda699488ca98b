import { useQuery } from "@tanstack/react-query";
import type { SetupState } from "../api/client.ts";

/** Limits of new passwords, characters. The state of the set-up is loaded before any page. */
export function usePasswordLength(): { min: number; max: number } {
  const setup = useQuery<SetupState>({ queryKey: ["setup"], enabled: false }).data;
  return { min: setup?.passwordMinLength ?? 12, max: 256 };
}
