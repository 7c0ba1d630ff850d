import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../../scripts/setup/project';

/** What a page carries within itself so that it can draw without asking anybody for anything. */
export interface PageScripts {
  /** In the order in which they run. */
  readonly scripts: readonly string[];
  readonly styles: string;
  /** The library's licence, which goes wherever the library goes. */
  readonly licence: string;
}

/** uPlot as it is published for pages, and what of ours draws with it. */
export function readPageScripts(): PageScripts {
  const library = (name: string): string => readFileSync(require.resolve(`uplot/dist/${name}`), 'utf8');
  const drawing = join(projectRoot, 'bench', 'drills', 'report', 'draw-charts.js');
  return {
    scripts: [library('uPlot.iife.min.js'), readFileSync(drawing, 'utf8')].map(inlineScript),
    styles: library('uPlot.min.css'),
    licence: readFileSync(require.resolve('uplot/LICENSE'), 'utf8').replaceAll('--', '–'),
  };
}

/** Neither an end nor a comment in a string of a script may end the element that it stands in. */
function inlineScript(script: string): string {
  return script.replace(/<(?=\/script|!--)/gi, '\\x3c');
}

/** Data for a script element: a `<` in a string of JSON may as well be written by its number. */
export function inlineJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}

/** As a content security policy names a script that may run. */
export function hashOf(script: string): string {
  return `'sha256-${createHash('sha256').update(script).digest('base64')}'`;
}
