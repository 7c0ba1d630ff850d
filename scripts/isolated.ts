import { launch } from './setup/launcher/launch';
import { isolatedTopology } from './setup/launcher/topology';

void launch({ topology: isolatedTopology }).then((code) => process.exit(code));
