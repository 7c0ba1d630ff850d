import { authorizationDemo } from './authorization';
import type { DemoData } from './demo-data';
import { fraudDemo } from './fraud';
import { ledgerDemo } from './ledger';

/** The lanes' demo data, in order of loading. */
export const demoData: readonly DemoData[] = [authorizationDemo, fraudDemo, ledgerDemo];
