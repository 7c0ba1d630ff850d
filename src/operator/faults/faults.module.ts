import { Module } from '@nestjs/common';
import { ProcessFaultSwitch } from '../../platform/process-faults';
import { FaultsController } from './faults.controller';

@Module({ controllers: [FaultsController], providers: [ProcessFaultSwitch] })
export class FaultsModule {}
