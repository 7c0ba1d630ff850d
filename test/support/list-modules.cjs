// Preloaded into a server under test: writes the modules it has loaded to the file named by MODULE_LIST_FILE as it
// exits, so that a test can see what a role brought in without the product knowing of it.
const { writeFileSync } = require('node:fs');

process.on('exit', () => writeFileSync(process.env.MODULE_LIST_FILE, JSON.stringify(Object.keys(require.cache))));
