import { Rates } from '../../tools/tax-provider/rates';
import { Simulator } from '../../tools/tax-provider/simulator';
import { readScriptEnvironment } from '../setup/script-environment';
import { compensationPaths } from './places';
import { Provider } from './provider';

/**
 * Works with the provider that `TAX_PROVIDER_URL` names (a real account: `TAX_PROVIDER_TOKEN`), or, without it, with a
 * simulator that lives as long as the work.
 */
export async function withProvider<T>(work: (provider: Provider) => Promise<T>): Promise<T> {
  const { TAX_PROVIDER_URL: url, TAX_PROVIDER_TOKEN: token } = readScriptEnvironment().variables;
  if (url !== undefined && url.trim() !== '') return work(new Provider(url.trim(), token?.trim() ?? null));
  return withSimulator(compensationPaths.simulator, work);
}

export async function withSimulator<T>(ratesPath: string, work: (provider: Provider) => Promise<T>): Promise<T> {
  const simulator = new Simulator(Rates.fromFile(ratesPath));
  const port = await simulator.listen('127.0.0.1', 0);
  try {
    return await work(new Provider(`http://127.0.0.1:${port}`, null));
  } finally {
    simulator.close();
  }
}
