/** Injection token of what the platform and the operators' pages must know of the process's settings. */
export const SETTINGS = Symbol('SETTINGS');

/** A part of the process's settings; whoever starts the process provides it, since the platform reads no configuration. */
export interface PlatformSettings {
  readonly role: string;
  readonly version: string;
  readonly faultsEnabled: boolean;
  /** Null closes the operators' pages to passwords; tokens still open them. */
  readonly operatorPassword: string | null;
}
