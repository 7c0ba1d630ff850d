import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

describe('the rules as ESLint loads them', () => {
  it('need no build and warn of nothing', () => {
    const script = `
      process.on('warning', (warning) => { console.log(String(warning)); process.exit(1); });
      const before = require.extensions['.ts'];
      const { meta, rules } = require(${JSON.stringify(join(__dirname, 'index.cjs'))});
      console.log(meta.name, Object.keys(rules).join(), require.extensions['.ts'] === before);`;
    const output = execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    expect(output.trim()).toBe('payment-core shared-failure-domain true');
  });
});
