/**
 * Loads the rules for ESLint without a build. Node's own type stripping wants file extensions in imports, which the
 * compiler's settings of this repository do not allow, and warns about every file; so the files are transpiled here.
 */
const { readFileSync } = require('node:fs');
const ts = require('typescript');

const { extensions } = require;
const usual = extensions['.ts'];
extensions['.ts'] = (module, fileName) => {
  const { outputText } = ts.transpileModule(readFileSync(fileName, 'utf8'), {
    fileName,
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2023, esModuleInterop: true },
  });
  module._compile(outputText, fileName);
};
try {
  module.exports = require('./plugin.ts').plugin;
} finally {
  // ESLint and its parsers must meet the loader that they expect.
  if (usual === undefined) delete extensions['.ts'];
  else extensions['.ts'] = usual;
}
