export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * AccountAfter
         * @description An account as the transaction left it, or as it was there if the transaction did not load it.
         */
        AccountAfter: {
            /** @description a pair of text and encoding; an object if it was parsed */
            data: [
                string,
                "base64" | "base64+zstd" | "base58"
            ] | components["schemas"]["ParsedData"];
            /** @description whether it is a program */
            executable: boolean;
            /** @description its balance */
            lamports: bigint;
            /**
             * Pubkey
             * @description the program that it belongs to
             */
            owner: string;
            /** @description the epoch in which it owes rent; 18446744073709551615 means never */
            rentEpoch: bigint;
            /** @description the length of its data in bytes */
            space: bigint;
        };
        /**
         * AccountChange
         * @description One write: the account as it left it.
         */
        AccountChange: {
            /** @description a pair of text and encoding; absent unless `includeData` is true */
            data?: [
                string,
                "base64" | "base64+zstd" | "base58"
            ];
            /** @description whether the state before had other data */
            dataChanged: boolean;
            /** @description SHA-256 of the whole data, in hex */
            dataHash: string;
            /** @description whether it was a program */
            executable: boolean;
            /** @description the balance afterwards */
            lamports: bigint;
            /**
             * Pubkey
             * @description the program that it belonged to
             */
            owner: string;
            /** @description the epoch in which it owed rent; 18446744073709551615 means never */
            rentEpoch: bigint;
            /** @description the slot of the write */
            slot: bigint;
            /** @description the length of its whole data in bytes */
            space: bigint;
            /** @description the place of that transaction in its block; null for writes outside them */
            transactionIndex: (bigint) | null;
            /** @description the transaction that wrote it; null for writes outside transactions */
            txnSignature: string | null;
        };
        /**
         * AccountChanges
         * @description The writes, and what the answer is based on.
         */
        AccountChanges: {
            /** @description what the answer is based on; `reason` reports writes that were not archived */
            context: components["schemas"]["RewindContext"];
            /** @description the page */
            value: components["schemas"]["ChangesPage"];
        };
        /**
         * AccountConfig
         * @description Where in the past, and how the account is written.
         */
        AccountConfig: {
            /** @description right before or after a transaction */
            anchor?: components["schemas"]["Anchor"];
            /**
             * @description taken and without effect: all that is archived is finalized
             * @enum {string}
             */
            commitment?: "processed" | "confirmed" | "finalized";
            /** @description only a part of the data */
            dataSlice?: components["schemas"]["DataSlice"];
            /**
             * @description `base64` by default; `jsonParsed` reads what known programs keep
             * @enum {string}
             */
            encoding?: "base64" | "base64+zstd" | "base58" | "jsonParsed";
            /** @description whether `context.idl` says what an IDL of the account's owner reads in its data */
            idl?: boolean;
            /** @description whether `context.proof` says if the cluster voted for what the archive has */
            proof?: boolean;
            /** @description the end of this slot */
            slot?: bigint | number;
            /** @description answer with what is known, even if slots in between are missing */
            tolerateGaps?: boolean;
            /** @description not the end of the slot, but right after its transaction of this index */
            transactionIndex?: bigint | number;
        };
        /**
         * AccountContext
         * @description What the answer is based on.
         */
        AccountContext: {
            /** @description the version of the archive's interface */
            apiVersion: string;
            /** @description whether the whole history would give the same answer */
            completeness: components["schemas"]["Completeness"];
            /** @description the newest run of missing slots between the state and the position: the account may have been written there; absent without such a run */
            gap?: components["schemas"]["GapEntry"];
            /** @description what an IDL of the account's owner says of its data; null if none reads it; absent unless requested */
            idl?: components["schemas"]["IdlData"] | null;
            /** @description whether the cluster voted for what the archive has at the end of the position's slot; absent unless requested */
            proof?: components["schemas"]["Standing"];
            /** @description why the value is null (`closed`, `never_existed`, `before_first_record`, `filtered`), or `filtered` if the archive does not, or did not, follow the account; else absent */
            reason?: string;
            /** @description the position's slot */
            slot: bigint;
        };
        /**
         * AccountDiff
         * @description The difference, and what the answer is based on.
         */
        AccountDiff: {
            /** @description what the answer is based on */
            context: components["schemas"]["DiffContext"];
            /** @description the account at both positions, and what differs */
            value: components["schemas"]["AccountPair"];
        };
        /**
         * AccountInfo
         * @description The account, and what the answer is based on.
         */
        AccountInfo: {
            /** @description what the answer is based on */
            context: components["schemas"]["AccountContext"];
            /** @description the account; null without a state there, and `context.reason` says why */
            value: components["schemas"]["AccountSnapshot"] | null;
        };
        /**
         * AccountPair
         * @description The account at both positions.
         */
        AccountPair: {
            /** @description at the first position; null without a state there */
            a: components["schemas"]["AccountSnapshot"] | null;
            /** @description at the second position; null without a state there */
            b: components["schemas"]["AccountSnapshot"] | null;
            /** @description what differs; null when a side is */
            diff: components["schemas"]["Diff"] | null;
        };
        /**
         * AccountSnapshot
         * @description An account as it was.
         */
        AccountSnapshot: {
            /** @description a pair of text and encoding; an object if it was parsed */
            data: [
                string,
                "base64" | "base64+zstd" | "base58"
            ] | components["schemas"]["ParsedData"];
            /** @description whether it is a program */
            executable: boolean;
            /** @description its balance */
            lamports: bigint;
            /**
             * Pubkey
             * @description the program that it belongs to
             */
            owner: string;
            /** @description the epoch in which it owes rent; 18446744073709551615 means never */
            rentEpoch: bigint;
            /** @description the slot in which it came to be so */
            rewindSlot: bigint;
            /** @description the length of its whole data in bytes */
            space: bigint;
        };
        /**
         * AccountsConfig
         * @description Accounts to be shown as the transaction left them, or as they were there if it does not load them.
         */
        AccountsConfig: {
            /** @description the accounts, at most as many as the transaction has */
            addresses: string[];
            /**
             * @description how their data is written: `base64` by default; `base58` and `binary` are refused
             * @enum {string}
             */
            encoding?: "binary" | "base58" | "base64" | "jsonParsed" | "base64+zstd";
        };
        /**
         * AddressConfig
         * @description Which part of the list.
         */
        AddressConfig: {
            /**
             * Signature
             * @description begin behind this transaction, that is, with the next older one
             */
            before?: string;
            /**
             * @description everything in the ledger is finalized; `confirmed` and `finalized` are served alike
             * @enum {string}
             */
            commitment?: "processed" | "confirmed" | "finalized";
            /**
             * @description `error` refuses a range with slots that are known to be missing. By default the list is returned, and the header `X-Ledger-Gaps` names these slots. The standard node does not have this option
             * @enum {string}
             */
            gaps?: "error";
            /** @description how many, from 1 to 1,000, which is the default */
            limit?: bigint | number;
            /** @description refuse to answer unless the ledger reaches this slot */
            minContextSlot?: bigint | number;
            /**
             * Signature
             * @description end before this transaction: it is not in the answer
             */
            until?: string;
        };
        /**
         * AddressSignature
         * @description One transaction of an address's list.
         */
        AddressSignature: {
            /** @description when its block was made, in Unix seconds; null if that was not recorded */
            blockTime: (bigint) | null;
            /**
             * @description always `finalized`
             * @enum {string}
             */
            confirmationStatus: "finalized";
            /** @description what it failed by; null when it succeeded, and where `outcome` is there */
            err: string | {
                [key: string]: unknown;
            } | null;
            /** @description the text of its memo, with its length before it; null without one */
            memo: string | null;
            /**
             * @description `unknown` if the source of its block had no status of it, so that `err` says nothing; absent otherwise. No field of the standard node
             * @enum {string}
             */
            outcome?: "unknown";
            /**
             * Signature
             * @description its signature
             */
            signature: string;
            /** @description its slot */
            slot: bigint;
            /** @description its place in the block, from 0 */
            transactionIndex: bigint;
        };
        /**
         * AddressTableLookup
         * @description Accounts that the message takes from a lookup table.
         */
        AddressTableLookup: {
            /**
             * Pubkey
             * @description the table
             */
            accountKey: string;
            /** @description the places in it of those that may only be read */
            readonlyIndexes: (bigint)[];
            /** @description the places in it of those that may be written */
            writableIndexes: (bigint)[];
        };
        /**
         * AddressTransactions
         * @description A page of an address's transactions.
         */
        AddressTransactions: {
            /** @description with `transactionDetails` `signatures` one short entry each, with `full` what getTransaction answers */
            data: (components["schemas"]["AddressSignature"] | components["schemas"]["TransactionEntry"])[];
            /** @description leads to the next page; null on the last one */
            paginationToken: string | null;
        };
        /**
         * AddressTransactionsConfig
         * @description Which transactions, in which order, and how they are written.
         */
        AddressTransactionsConfig: {
            /**
             * @description everything in the ledger is finalized; `confirmed` and `finalized` are served alike
             * @enum {string}
             */
            commitment?: "processed" | "confirmed" | "finalized";
            /**
             * @description `json` by default; `jsonParsed` reads what known programs were asked. `base64` and `base58` are the transaction's own bytes, and `binary` is base58 as bare text
             * @enum {string}
             */
            encoding?: "binary" | "base64" | "base58" | "json" | "jsonParsed";
            /** @description what a transaction must be */
            filters?: components["schemas"]["Filters"];
            /**
             * @description `current` (the default) writes a transaction of any age as a node of today does; `source` as the source that it was recorded from did, without the fields that it did not know. No option of the standard node
             * @enum {string}
             */
            form?: "current" | "source";
            /**
             * @description `error` refuses a page whose range has slots that are known to be missing. By default it is returned, and the header `X-Ledger-Gaps` names these slots
             * @enum {string}
             */
            gaps?: "error";
            /** @description how many a page: up to 1,000 signatures, up to 100 full ones; the most is the default */
            limit?: bigint | number;
            /** @description the newest version that you can read: 1 today. Without it only legacy transactions are answered. With 1 and more, base58 is refused */
            maxSupportedTransactionVersion?: bigint | number;
            /** @description refuse to answer unless the ledger reaches this slot */
            minContextSlot?: bigint | number;
            /** @description from the page before; order and filters must stay the same */
            paginationToken?: string;
            /**
             * @description by slot and place: `desc` (the default) is newest first
             * @enum {string}
             */
            sortOrder?: "desc" | "asc";
            /**
             * @description `signatures` (the default) or `full`; no others are served here
             * @enum {string}
             */
            transactionDetails?: "full" | "accounts" | "signatures" | "none";
        };
        /**
         * Anchor
         * @description A transaction, by its signature, or by its slot and index; the state before or after it.
         */
        Anchor: {
            /**
             * @description `before` (the default) or `after` it
             * @enum {string}
             */
            position?: "before" | "after";
            /**
             * Signature
             * @description the transaction's signature
             */
            signature?: string;
            /** @description its slot, with `transactionIndex` in place of a signature */
            slot?: bigint | number;
            /** @description its place in the block, from 0 */
            transactionIndex?: bigint | number;
        };
        /**
         * BalanceChange
         * @description Lamports of an account.
         */
        BalanceChange: {
            /** @description after it */
            after: bigint;
            /** @description before the transaction */
            before: bigint;
            /** @description the difference */
            change: bigint;
            /** @description the account */
            pubkey: string;
        };
        /**
         * Bank
         * @description What to simulate on: one of the two.
         */
        Bank: {
            /** @description the newest state of this commitment */
            commitment?: ("processed" | "confirmed" | "finalized") | components["schemas"]["InCommitment"];
            /** @description the end of this slot in the past */
            slot?: bigint | number;
        };
        /**
         * BaselineEntry
         * @description A snapshot that was imported: what every account was at the end of its slot.
         */
        BaselineEntry: {
            /** @description the hash of the slot's bank; absent without one in the file */
            bankHash?: string;
            /** @description the slot of the full snapshot that it builds on; absent for a full one */
            baseSlot?: bigint;
            /** @description whether its accounts make the lattice hash that it declares, and with it the bank's hash */
            proven: boolean;
            /** @description the slot at whose end this was the state */
            slot: bigint;
            /** @description why that is not known; absent for a proven one */
            whyUnproven?: string;
        };
        /**
         * Block
         * @description A block.
         */
        Block: {
            /** @description how many blocks there are below it; null if that was not recorded */
            blockHeight: (bigint) | null;
            /** @description when it was made, in Unix seconds; null if that was not recorded */
            blockTime: (bigint) | null;
            /**
             * Hash
             * @description its hash
             */
            blockhash: string;
            /** @description into how many parts the epoch's rewards are split, in its first block */
            numRewardPartitions?: bigint;
            /** @description the slot of the block before it */
            parentSlot: bigint;
            /**
             * Hash
             * @description the hash of the block before it
             */
            previousBlockhash: string;
            /** @description what accounts were given outside transactions; absent if `rewards` is false */
            rewards?: components["schemas"]["Reward"][];
            /** @description with `transactionDetails` `signatures`, in their order */
            signatures?: string[];
            /** @description with `transactionDetails` `full` or `accounts`, in their order */
            transactions?: components["schemas"]["BlockTransaction"][];
        };
        /**
         * BlockConfig
         * @description How much of a block is written.
         */
        BlockConfig: {
            /**
             * @description everything in the ledger is finalized; `confirmed` and `finalized` are served alike
             * @enum {string}
             */
            commitment?: "processed" | "confirmed" | "finalized";
            /**
             * @description `json` by default; `jsonParsed` reads what known programs were asked. `base64` and `base58` are the transaction's own bytes, and `binary` is base58 as bare text
             * @enum {string}
             */
            encoding?: "binary" | "base64" | "base58" | "json" | "jsonParsed";
            /**
             * @description `current` (the default) writes a transaction of any age as a node of today does; `source` as the source that it was recorded from did, without the fields that it did not know. No option of the standard node
             * @enum {string}
             */
            form?: "current" | "source";
            /** @description the newest version that you can read: 1 today. Without it only legacy transactions are answered. With 1 and more, base58 is refused */
            maxSupportedTransactionVersion?: bigint | number;
            /** @description refuse to answer unless the ledger reaches this slot */
            minContextSlot?: bigint | number;
            /** @description whether to list what accounts were given outside transactions; true by default otherwise */
            rewards?: boolean;
            /**
             * @description `full` by default; `accounts` leaves out what was done, `signatures` all but the names, `none` all
             * @enum {string}
             */
            transactionDetails?: "full" | "accounts" | "signatures" | "none";
        };
        /**
         * BlockTransaction
         * @description A transaction of a block.
         */
        BlockTransaction: {
            /** @description what it did; null without one in the source */
            meta: components["schemas"]["TransactionMeta"] | null;
            /** @description the transaction itself, an object, or a pair of text and encoding */
            transaction: components["schemas"]["TransactionJson"] | components["schemas"]["TransactionAccounts"] | [
                string,
                "base64" | "base58"
            ] | string;
            /** @description its version; absent unless `maxSupportedTransactionVersion` is given, and if `meta` is null */
            version?: "legacy" | (bigint);
        };
        /**
         * Bucket
         * @description A limit of a rate, as a bucket of tokens. Null means unlimited.
         */
        Bucket: {
            /** @description how many it holds */
            burst: (bigint) | null;
            /** @description how many tokens come into it a second */
            perSecond: number | null;
            /** @description how many are in it, or somewhat fewer, since processes prefetch some; null also while that is unknown */
            remaining: (bigint) | null;
            /** @description until it is full again */
            resetSeconds: (bigint) | null;
        };
        /**
         * BundleConfig
         * @description How to simulate: on the newest state, or with `slot` or `anchor` in the past.
         */
        BundleConfig: {
            /** @description right before or after a transaction in the past */
            anchor?: components["schemas"]["Anchor"];
            /**
             * @description the newest state of this commitment
             * @enum {string}
             */
            commitment?: "processed" | "confirmed" | "finalized";
            /** @description accounts to be shown after each transaction, one entry for each; null for none */
            postExecutionAccountsConfigs?: (components["schemas"]["Snapshots"] | null)[];
            /** @description accounts to be shown before each transaction, one entry for each; null for none */
            preExecutionAccountsConfigs?: (components["schemas"]["Snapshots"] | null)[];
            /** @description let any blockhash pass */
            replaceRecentBlockhash?: boolean;
            /** @description what to run on, in a block engine's words: `tip` means the newest state */
            simulationBank?: ("tip" | "processed" | "confirmed" | "finalized") | (bigint | number) | components["schemas"]["Bank"];
            /** @description do not check the signatures */
            skipSigVerify?: boolean;
            /** @description the end of this slot in the past */
            slot?: bigint | number;
            /** @description in the past: answer with what is known, even if the archive misses slots */
            tolerateGaps?: boolean;
            /**
             * @description how the transactions are written: `base64` by default
             * @enum {string}
             */
            transactionEncoding?: "base58" | "base64";
            /** @description not the end of the slot, but right after its transaction of this index */
            transactionIndex?: bigint | number;
        };
        /**
         * BundleContext
         * @description What the bundle ran on.
         */
        BundleContext: {
            /** @description the version of the node that its state came from, or of the archive's interface */
            apiVersion: string;
            /** @description in the past: whether the whole history would give the same answer; absent for the newest state of a node */
            completeness?: components["schemas"]["Completeness"];
            /** @description rules of the chain that the engine does not support; absent without any */
            missingRules?: components["schemas"]["MissingRuleEntry"][];
            /** @description the slot of that state */
            slot: bigint;
        };
        /**
         * BundleFailure
         * @description The first failure of a bundle, by names that different clients read.
         *
         *     txSignature: the same once more
         */
        BundleFailure: {
            /** @description `TransactionFailure` with the signature and the error as text */
            error: {
                [key: string]: unknown;
            };
            /**
             * Signature
             * @description a transaction's signature: 64 bytes in base58
             */
            txSignature: string;
            /**
             * Signature
             * @description the transaction that failed
             */
            tx_signature: string;
        };
        /**
         * BundleFate
         * @description What became of a bundle. Times are Unix seconds with their fractions.
         */
        BundleFate: {
            /** @description when it was accepted */
            acceptedAt: number;
            /** @description its id: SHA-256 of its signatures, in hex */
            bundleId: string;
            /** @description the ids that block engines gave it, by their names as upstreams */
            engineIds: {
                [key: string]: string;
            };
            /** @description whether it stays so */
            final: boolean;
            /** @description why it never landed; null unless that is known */
            reason: string | null;
            /** @description when it became final; null before that */
            settledAt: number | null;
            /** @description the slot of its block; null before it landed */
            slot: (bigint) | null;
            /**
             * @description as a transaction's: `received`, `sent`, `landed`, `failed`, `expired`, `refused`
             * @enum {string}
             */
            state: "received" | "sent" | "landed" | "failed" | "expired" | "refused";
            /** @description the fates of its transactions, in their order */
            transactions: components["schemas"]["Fate"][];
        };
        /**
         * BundleTransaction
         * @description One transaction of a bundle, as the block engine's client reads it. Balances are in the order of its accounts: the message's own, then the looked-up writable, then the read-only ones.
         */
        BundleTransaction: {
            /** @description what it failed by; null when it succeeded */
            err: string | {
                [key: string]: unknown;
            } | null;
            /** @description what it would cost in lamports; null if no block would include it */
            fee: (bigint) | null;
            /** @description bytes of the accounts that it loads */
            loadedAccountsDataSize: bigint;
            /** @description accounts from lookup tables */
            loadedAddresses: components["schemas"]["LoadedAddresses"];
            /** @description the programs' log */
            logs: string[];
            /** @description lamports of each account after it */
            postBalances: (bigint)[];
            /** @description the accounts asked for, after it */
            postExecutionAccounts: components["schemas"]["ShownAccount"][];
            /** @description token accounts after it */
            postTokenBalances: components["schemas"]["TokenBalance"][];
            /** @description lamports of each account before it */
            preBalances: (bigint)[];
            /** @description the accounts asked for, before it */
            preExecutionAccounts: components["schemas"]["ShownAccount"][];
            /** @description token accounts before it */
            preTokenBalances: components["schemas"]["TokenBalance"][];
            /** @description the blockhash that replaced its own; null if its own was used */
            replacementBlockhash: components["schemas"]["ReplacementBlockhash"] | null;
            /** @description what a program returned last; null without such data */
            returnData: components["schemas"]["ReturnData"] | null;
            /** @description compute units that it took */
            unitsConsumed: bigint;
        };
        /**
         * BundleValue
         * @description The result of the bundle.
         */
        BundleValue: {
            /** @description `succeeded`, or an object with the first failure */
            summary: "succeeded" | components["schemas"]["FailedBundle"];
            /** @description the transactions that ran, up to the first failure */
            transactionResults: components["schemas"]["BundleTransaction"][];
        };
        /**
         * ChangesConfig
         * @description Which writes, and what of them.
         */
        ChangesConfig: {
            /** @description begin at this transaction in place of the range's end */
            anchor?: components["schemas"]["Anchor"];
            /** @description `next` of the page before */
            before?: string;
            /**
             * @description taken and without effect: all that is archived is finalized
             * @enum {string}
             */
            commitment?: "processed" | "confirmed" | "finalized";
            /** @description only a part of the data */
            dataSlice?: components["schemas"]["DataSlice"];
            /**
             * @description how data is written; required with `includeData`
             * @enum {string}
             */
            encoding?: "base64" | "base64+zstd" | "base58";
            /** @description the lowest slot, included */
            fromSlot: bigint | number;
            /** @description whether each write carries the account's data */
            includeData?: boolean;
            /** @description how many a page: 100 by default, at most 1,000, or 50 with data */
            limit?: bigint | number;
            /** @description whether `context.proof` says if the cluster voted for what the archive has */
            proof?: boolean;
            /** @description the highest slot, included */
            toSlot: bigint | number;
        };
        /**
         * ChangesPage
         * @description A page of writes.
         */
        ChangesPage: {
            /** @description the writes, newest first */
            changes: components["schemas"]["AccountChange"][];
            /** @description runs of missing slots in the whole range, lowest first */
            gaps: components["schemas"]["GapEntry"][];
            /** @description give it as `before` for the next page; null on the last one */
            next: string | null;
            /** @description whether the page is shorter than asked for because it was full */
            truncatedByBytes: boolean;
        };
        /**
         * CompiledInstruction
         * @description An instruction as the message has it.
         */
        CompiledInstruction: {
            /** @description the places of the accounts that it is given */
            accounts: (bigint)[];
            /** @description its bytes in base58 */
            data: string;
            /** @description the program's place among the transaction's accounts */
            programIdIndex: bigint;
            /** @description how deep in calls of programs it ran, 1 for the message's own; null if unknown */
            stackHeight?: (bigint) | null;
        };
        /**
         * Completeness
         * @description Whether the answer is what the whole history would give.
         */
        Completeness: {
            /** @description why it is incomplete, each kind once: of several gaps the newest; empty when it is whole */
            causes: components["schemas"]["CompletenessCause"][];
            /**
             * @description `whole`: nothing that the answer uses can have been written unseen; `incomplete`: it may have been, and `causes` says why
             * @enum {string}
             */
            status: "whole" | "incomplete";
        };
        /**
         * CompletenessCause
         * @description Why an answer may differ from what the whole history would give.
         */
        CompletenessCause: {
            /** @description the accounts that it concerns */
            accounts: string[];
            /**
             * @description `gap`: these slots are missing, and something that the answer uses may have been written in them; `last_writes_only`: of slots in this range the archive has each account's last write alone, and earlier ones may be missing; `not_recorded`: the state of the accounts is not known; `filtered`: the archive does not, or did not, follow the accounts
             * @enum {string}
             */
            cause: "gap" | "last_writes_only" | "not_recorded" | "filtered";
            /** @description the first slot; null if the cause is not one of slots */
            fromSlot: (bigint) | null;
            /** @description the last slot; null if the cause is not one of slots */
            toSlot: (bigint) | null;
        };
        /**
         * ComputeUse
         * @description Compute units, and what else was asked for. Null if it was not requested, or is not recorded.
         */
        ComputeUse: {
            /** @description bytes */
            heapSize: (bigint) | null;
            /** @description units that were asked for */
            limit: (bigint) | null;
            /** @description bytes */
            loadedAccountsDataSizeLimit: (bigint) | null;
            /** @description micro-lamports for each unit */
            unitPrice: (bigint) | null;
            /** @description units that were used */
            used: (bigint) | null;
        };
        /**
         * Context
         * @description What the answer is based on.
         */
        Context: {
            /** @description the version of the standard node whose words the ledger speaks */
            apiVersion: string;
            /** @description the newest slot of the ledger */
            slot: bigint;
        };
        /**
         * ContextConfig
         * @description What every method takes.
         */
        ContextConfig: {
            /**
             * @description everything in the ledger is finalized; `confirmed` and `finalized` are served alike
             * @enum {string}
             */
            commitment?: "processed" | "confirmed" | "finalized";
            /** @description refuse to answer unless the ledger reaches this slot */
            minContextSlot?: bigint | number;
        };
        /**
         * Costs
         * @description What is taken from each limit.
         */
        Costs: {
            /** @description from `bundles` by every sendBundle */
            bundlesPerBundle: bigint;
            /** @description from the month by a call that was answered */
            monthlyPerAnsweredCall: bigint;
            /** @description from the month by a call that was refused, or failed by our fault */
            monthlyPerRefusedCall: bigint;
            /** @description from `requests` by every call, and by each call of a batch */
            requestsPerCall: bigint;
            /** @description from `tipFetches` by every fetch, whatever its count */
            tipFetchesPerFetch: bigint;
        };
        /**
         * Coverage
         * @description What is served.
         */
        Coverage: {
            /** @description the lowest stored slot; null while none is stored */
            firstSlot: (bigint) | null;
            /** @description the runs of missing slots, lowest first; null unless requested */
            gaps: components["schemas"]["GapEntry"][] | null;
            /** @description the highest stored slot */
            lastSlot: (bigint) | null;
            /** @description how many slots of the window, as far as it lies between these, are not stored, and are not known to be skipped */
            missingSlotCount: bigint;
            /** @description the history below it; null without one */
            remote: components["schemas"]["RemoteHistory"] | null;
            /** @description how the window's other slots are stored, lowest first; if truncated, up to the last gap that may be listed */
            storage: components["schemas"]["StorageBand"][];
            /** @description whether there are more gaps than may be listed */
            truncated: boolean;
        };
        /**
         * CoverageConfig
         * @description Which window, and how much of its gaps.
         */
        CoverageConfig: {
            /** @description the window's first slot; the first stored one by default */
            fromSlot?: bigint | number;
            /** @description whether to list them; true by default */
            includeGaps?: boolean;
            /** @description how many gaps to list: 1,000 by default, at most 10,000 */
            maxGaps?: bigint | number;
            /** @description the window's last slot; the last stored one by default */
            toSlot?: bigint | number;
        };
        /**
         * DataSlice
         * @description A part of an account's data.
         */
        DataSlice: {
            /** @description how many bytes */
            length: bigint | number;
            /** @description its first byte */
            offset: bigint | number;
        };
        /**
         * Diff
         * @description What differs from A to B. Deltas are B minus A.
         */
        Diff: {
            /** @description whether the data differs */
            dataChanged: boolean;
            /** @description the length of A's data in bytes */
            dataLenA: bigint;
            /** @description the length of B's data in bytes */
            dataLenB: bigint;
            /** @description whether it became a program, or stopped being one */
            executableChanged: boolean;
            /** @description by how much the balance differs */
            lamportsDelta: bigint;
            /** @description whether it belongs to another program */
            ownerChanged: boolean;
            /** @description by how much the rent epoch differs */
            rentEpochDelta: bigint;
        };
        /**
         * DiffConfig
         * @description Two positions, A and B, each a slot or an anchor, and how the account is written.
         */
        DiffConfig: {
            /** @description A: right before or after a transaction */
            anchorA?: components["schemas"]["Anchor"];
            /** @description B: right before or after a transaction */
            anchorB?: components["schemas"]["Anchor"];
            /**
             * @description taken and without effect: all that is archived is finalized
             * @enum {string}
             */
            commitment?: "processed" | "confirmed" | "finalized";
            /** @description only a part of the data */
            dataSlice?: components["schemas"]["DataSlice"];
            /**
             * @description `base64` by default; `jsonParsed` reads what known programs keep
             * @enum {string}
             */
            encoding?: "base64" | "base64+zstd" | "base58" | "jsonParsed";
            /** @description whether `context.proof` says if the cluster voted for what the archive has */
            proof?: boolean;
            /** @description A: the end of this slot */
            slotA?: bigint | number;
            /** @description B: the end of this slot */
            slotB?: bigint | number;
            /** @description answer with what is known, even if slots in between are missing */
            tolerateGaps?: boolean;
            /** @description A: not the end of the slot, but right after its transaction of this index */
            transactionIndexA?: bigint | number;
            /** @description B: not the end of the slot, but right after its transaction of this index */
            transactionIndexB?: bigint | number;
        };
        /**
         * DiffContext
         * @description What the answer is based on.
         */
        DiffContext: {
            /** @description the version of the archive's interface */
            apiVersion: string;
            /** @description whether the whole history would give the same answer */
            completeness: components["schemas"]["Completeness"];
            /** @description runs of missing slots; absent without any */
            gap?: components["schemas"]["DiffGap"];
            /** @description whether the cluster voted for what the archive has; absent unless requested */
            proof?: components["schemas"]["DiffProof"];
            /** @description why a side is null, or a note on it; absent without either */
            reason?: components["schemas"]["DiffReason"];
        };
        /**
         * DiffGap
         * @description The gap of each side, as getAccountInfo has it, or null.
         */
        DiffGap: {
            /** @description of the first position */
            a: components["schemas"]["GapEntry"] | null;
            /** @description of the second position */
            b: components["schemas"]["GapEntry"] | null;
        };
        /**
         * DiffProof
         * @description Whether the cluster voted for what the archive has at the end of each position's slot.
         */
        DiffProof: {
            /** @description of the first position */
            a: components["schemas"]["Standing"];
            /** @description of the second position */
            b: components["schemas"]["Standing"];
        };
        /**
         * DiffReason
         * @description What there is to say of each side: a word as getAccountInfo has it, or null.
         */
        DiffReason: {
            /** @description of the first position */
            a: string | null;
            /** @description of the second position */
            b: string | null;
        };
        /**
         * EncodingConfig
         * @description How a transaction is written.
         */
        EncodingConfig: {
            /**
             * @description `base58` or `base64`
             * @enum {string}
             */
            encoding?: "base58" | "base64";
        };
        /**
         * ErrorName
         * @description A program's own error, as its log or its IDL calls it.
         */
        ErrorName: {
            /** @description the account that it is about, by its name in the instruction; null if unknown */
            account: string | null;
            /** @description its number */
            code: bigint;
            /** @description what it means; may be empty */
            message: string;
            /** @description its name */
            name: string;
        };
        /**
         * ExplainedAccount
         * @description An account that the transaction names.
         */
        ExplainedAccount: {
            /** @description what it is, if it is a known program, sysvar, mint or tip account, or a program with an uploaded IDL; else null */
            name: string | null;
            /** @description the account */
            pubkey: string;
            /** @description whether it signed */
            signer: boolean;
            /**
             * @description `transaction`, or `lookupTable` if it was looked up
             * @enum {string}
             */
            source: "transaction" | "lookupTable";
            /** @description whether the transaction could change it */
            writable: boolean;
        };
        /**
         * ExplainedFees
         * @description What the transaction paid to be processed, in lamports. Null if it is not recorded.
         */
        ExplainedFees: {
            /** @description for signatures */
            base: (bigint) | null;
            /** @description the account that paid */
            payer: string;
            /** @description for the compute unit price, or the priority fee of version 1 */
            priority: (bigint) | null;
            /** @description all of it */
            total: (bigint) | null;
        };
        /**
         * ExplainedInstruction
         * @description An instruction, or a call that a program made.
         */
        ExplainedInstruction: {
            /** @description the accounts that it is given, in order */
            accounts: components["schemas"]["InstructionAccount"][];
            /** @description its bytes in base58 */
            data: string;
            /** @description what reads it: `program` for programs that this service knows, `idl`, or null */
            decodedBy: ("program" | "idl") | null;
            /** @description how deep in calls of programs it ran, from 1 */
            depth: bigint;
            /** @description whether the program called itself to log an event */
            event: boolean;
            /** @description whether the transaction failed here first */
            failed: boolean;
            /** @description its arguments by name, with accounts for programs that this service knows; integers of an IDL above 32 bits are decimal text, bytes base64. Null if they could not be read */
            info: {
                [key: string]: unknown;
            } | null;
            /** @description the calls that it made itself, in order */
            inner: components["schemas"]["ExplainedInstruction"][];
            /** @description `2` is the transaction's second instruction, `2.1` the first call that ran in it */
            number: string;
            /** @description its name; null if it is not known. An IDL on chain does not name its program */
            program: string | null;
            /** @description the program */
            programId: string;
            /** @description whether it ran: none does after one that failed; null where `outcome` is `unknown` */
            ran: boolean | null;
            /** @description what the instruction is called; null if it is not known */
            type: string | null;
        };
        /**
         * ExplainedTip
         * @description A transfer to a tip address. Of a failed transaction it was rolled back.
         */
        ExplainedTip: {
            /** @description the tip address */
            address: string;
            /** @description the number of the instruction */
            instruction: string;
            /** @description the tip */
            lamports: bigint;
            /**
             * @description `service` for this service, `jito` for block engines of Jito
             * @enum {string}
             */
            receiver: "service" | "jito";
        };
        /**
         * ExplainedTransaction
         * @description A transaction in words and figures.
         */
        ExplainedTransaction: {
            /** @description the accounts that it names and looks up, in their order */
            accounts: components["schemas"]["ExplainedAccount"][];
            /** @description SOL of each account, in lamports, in the order of `accounts` */
            balances: components["schemas"]["BalanceChange"][];
            /** @description when its block was made, in Unix seconds; null if that was not recorded */
            blockTime: (bigint) | null;
            /** @description what it used and asked for */
            compute: components["schemas"]["ComputeUse"];
            /** @description what it failed by; null when it succeeded, or if that is not known */
            err: string | {
                [key: string]: unknown;
            } | null;
            /** @description the same in words; null if `err` is */
            failure: components["schemas"]["Failure"] | null;
            /** @description what it paid to be processed */
            fees: components["schemas"]["ExplainedFees"];
            /** @description the IDLs that it was read by */
            idls: components["schemas"]["UsedIdl"][];
            /** @description its instructions, decoded, with the calls that they made */
            instructions: components["schemas"]["ExplainedInstruction"][];
            /**
             * @description whether it succeeded; `unknown` if the source of its block had no status of it
             * @enum {string}
             */
            outcome: "success" | "failed" | "unknown";
            /**
             * Signature
             * @description its first signature
             */
            signature: string;
            /** @description its slot */
            slot: bigint;
            /** @description what it paid to tip addresses */
            tips: components["schemas"]["ExplainedTip"][];
            /** @description tokens of each token account */
            tokenBalances: components["schemas"]["TokenBalanceChange"][];
            /** @description its place in the block, from 0 */
            transactionIndex: bigint;
            /** @description what its instructions moved, in the order in which they ran, up to a failure, which rolls all of it back; none if the outcome is not known */
            transfers: components["schemas"]["ExplainedTransfer"][];
            /** @description its version */
            version: "legacy" | (bigint);
        };
        /**
         * ExplainedTransfer
         * @description SOL or tokens that one instruction moved.
         */
        ExplainedTransfer: {
            /** @description lamports, or the token's smallest unit, as text */
            amount: string;
            /** @description the number of digits behind the point; null if it is not recorded */
            decimals: (bigint) | null;
            /** @description the receiver; null for tokens that are burnt */
            destination: string | null;
            /** @description the same of the destination */
            destinationOwner: string | null;
            /** @description the number of the instruction */
            instruction: string;
            /** @description its type, such as `transferChecked`, `createAccount`, `mintTo`, `burn` */
            kind: string;
            /** @description the token; null for SOL */
            mint: string | null;
            /** @description the sender; null for tokens that are minted */
            source: string | null;
            /** @description who owns the source, a token account; null if it is not recorded */
            sourceOwner: string | null;
            /** @description the amount with its point, as text; null without decimals */
            uiAmount: string | null;
        };
        /**
         * FailedBundle
         * @description The `summary` of a failed simulation.
         */
        FailedBundle: {
            /** @description the first failure */
            failed: components["schemas"]["BundleFailure"];
        };
        /**
         * Failure
         * @description Why the transaction failed.
         */
        Failure: {
            /** @description the program's own error by name; null if it is another error, or unknown */
            error: components["schemas"]["ErrorName"] | null;
            /** @description the number of the instruction that failed first; null if all succeeded */
            instruction: string | null;
            /** @description its program */
            programId: string | null;
            /** @description in words */
            sentence: string;
            /** @description the node's words, which count instructions from 0 */
            technical: string;
        };
        /**
         * Fate
         * @description What became of one submission. Times are Unix seconds with their fractions.
         */
        Fate: {
            /** @description when it was accepted */
            acceptedAt: number;
            /** @description the chain's slot then; null if that was not known */
            acceptedSlot: (bigint) | null;
            /** @description each of them, the oldest first; absent if many fates are asked for */
            attempts?: components["schemas"]["FateAttempt"][];
            /** @description the bundle in which you sent it; null if it came alone */
            bundleId: string | null;
            /** @description how deep in the chain its block is; null before it landed */
            commitment: string | null;
            /** @description whether it uses a durable nonce, and has no such end */
            durableNonce: boolean;
            /** @description the service's name of itself */
            edge: string | null;
            /** @description what it failed by; null when it did not */
            err: string | {
                [key: string]: unknown;
            } | null;
            /** @description whether it stays so */
            final: boolean;
            /** @description above this block height it can never land; null if that is not known */
            lastValidBlockHeight: (bigint) | null;
            /** @description how often to send it again; null means until it lands or never can */
            maxRetries: (bigint) | null;
            /** @description the nonce account that it uses; null without one, and before it is stored */
            nonceAccount: string | null;
            /** @description the only upstreams to send it to; empty means all */
            onlyUpstreams: string[];
            /** @description how long it waited for that from its acceptance; null before it went out */
            queueMilliseconds: (bigint) | null;
            /** @description why it never landed; null unless that is known */
            reason: string | null;
            /** @description when it was first seen in a block; null before that */
            seenAt: number | null;
            /** @description `active` while the service sends it until it lands; `stopped` when it no longer does although it can still land, as on a durable nonce; null in a block, and once it is final */
            sending: ("active" | "stopped") | null;
            /** @description why it is `stopped`; null otherwise */
            sendingStopped: string | null;
            /** @description when it first went out; null before that */
            sentAt: number | null;
            /** @description when it became final; null before that */
            settledAt: number | null;
            /**
             * Signature
             * @description the transaction's signature
             */
            signature: string;
            /** @description the slot of its block; null before it landed */
            slot: (bigint) | null;
            /** @description how many slots after its acceptance it landed */
            slotsAfterAcceptance: (bigint) | null;
            /**
             * @description `received` (accepted), `sent`, `landed`, `failed` (in a block, with an error), `expired` (in no block, and it can never be), or `refused` (the same, and no upstream ever took it)
             * @enum {string}
             */
            state: "received" | "sent" | "landed" | "failed" | "expired" | "refused";
            /** @description the tier that it was sent for */
            tier: string | null;
            /** @description the tip that it was accepted with; null if another transaction of its bundle tips */
            tip: components["schemas"]["PaidTip"] | null;
            /** @description its place in the block; null before it landed */
            transactionIndex: (bigint) | null;
            /** @description how many attempts there were */
            tries: bigint;
            /** @description why it was known to fail when it was accepted: a version 1 transaction that asks for no size or no units; null for all others, and before it is stored */
            willFail: string | null;
        };
        /**
         * FateAttempt
         * @description One attempt to send a submission.
         */
        FateAttempt: {
            /** @description the upstream's answer */
            answer: string;
            /** @description how long it took */
            latencyMicroseconds: bigint;
            /** @description the how-manieth time it went this way */
            number: bigint;
            /** @description `sent`, `refused` or `failed` */
            outcome: string;
            /** @description when, in Unix seconds with their fractions */
            startedAt: number;
            /** @description where to: an address, or a leader's identity */
            target: string;
            /** @description the upstream's name */
            upstream: string;
        };
        /**
         * Filters
         * @description What a transaction must be: all members must hold.
         */
        Filters: {
            /** @description when its block was made */
            blockTime?: components["schemas"]["TimeFilter"];
            /** @description its signature as text */
            signature?: components["schemas"]["SignatureFilter"];
            /** @description the slots that it is in */
            slot?: components["schemas"]["SlotFilter"];
            /**
             * @description whether it succeeded; `unknown` are those that the source had no status of, which match neither `success` nor `failed`
             * @enum {string}
             */
            status?: "success" | "failed" | "unknown";
            /** @description only `none` is supported: transactions of the address itself */
            tokenAccounts?: string;
        };
        /**
         * FlatAccount
         * @description An account as simulateBundle shows it.
         */
        FlatAccount: {
            /** @description its data as text in the requested encoding; an object if it was parsed */
            data: string | components["schemas"]["ParsedData"];
            /** @description how many bytes of data it has, where `data` is empty because the account was not asked for and the answer has no room for it; else absent */
            dataOmitted?: bigint;
            /** @description whether it is a program */
            executable: boolean;
            /** @description its balance */
            lamports: bigint;
            /**
             * Pubkey
             * @description the program that it belongs to
             */
            owner: string;
            /** @description the epoch in which it owes rent; 18446744073709551615 means never */
            rentEpoch: bigint;
        };
        /**
         * FlatBundle
         * @description The transactions, and in the flat form how to simulate them.
         */
        FlatBundle: {
            /** @description right before or after a transaction in the past */
            anchor?: components["schemas"]["Anchor"];
            /**
             * @description the newest state of this commitment
             * @enum {string}
             */
            commitment?: "processed" | "confirmed" | "finalized";
            /** @description one to four transactions as text, in their order */
            encodedTransactions: string[];
            /** @description accounts to be shown after each transaction, one entry for each; null for none */
            postExecutionAccountsConfigs?: (components["schemas"]["Snapshots"] | null)[];
            /** @description accounts to be shown before each transaction, one entry for each; null for none */
            preExecutionAccountsConfigs?: (components["schemas"]["Snapshots"] | null)[];
            /** @description let any blockhash pass */
            replaceRecentBlockhash?: boolean;
            /** @description what to run on, in a block engine's words: `tip` means the newest state */
            simulationBank?: ("tip" | "processed" | "confirmed" | "finalized") | (bigint | number) | components["schemas"]["Bank"];
            /** @description do not check the signatures */
            skipSigVerify?: boolean;
            /** @description the end of this slot in the past */
            slot?: bigint | number;
            /** @description in the past: answer with what is known, even if the archive misses slots */
            tolerateGaps?: boolean;
            /**
             * @description how the transactions are written: `base64` by default
             * @enum {string}
             */
            transactionEncoding?: "base58" | "base64";
            /** @description not the end of the slot, but right after its transaction of this index */
            transactionIndex?: bigint | number;
        };
        /**
         * FlatReturnData
         * @description What a program returned last.
         */
        FlatReturnData: {
            /** @description the bytes in base64 */
            data: string;
            /**
             * Pubkey
             * @description the program
             */
            programId: string;
        };
        /**
         * GapEntry
         * @description A run of slots that are not stored, both ends included.
         */
        GapEntry: {
            /** @description the first of them */
            fromSlot: bigint;
            /**
             * @description `cannot_be_had` if they were given up: no source has them any more; omitted while attempts to fetch them go on
             * @enum {string}
             */
            state?: "cannot_be_had";
            /**
             * @description `missing`, or `unknown` while it is not known if the leaders made blocks
             * @enum {string}
             */
            status: "missing" | "unknown";
            /** @description the last of them */
            toSlot: bigint;
        };
        /**
         * IdlData
         * @description What an IDL says of an account's data.
         */
        IdlData: {
            /** @description the IDL */
            idl: components["schemas"]["UsedIdl"];
            /** @description its members by name; integers above 32 bits are decimal text, bytes base64. Null if they could not be read */
            info: {
                [key: string]: unknown;
            } | null;
            /** @description what the IDL calls accounts of this type */
            type: string;
        };
        /**
         * InCommitment
         * @description A commitment as Rust's clients write one.
         */
        InCommitment: {
            /**
             * @description `processed`, `confirmed` or `finalized`
             * @enum {string}
             */
            commitment: "processed" | "confirmed" | "finalized";
        };
        /**
         * InflightBundle
         * @description How far a bundle has come, in the block engine's own names and states.
         */
        InflightBundle: {
            /** @description its id */
            bundle_id: string;
            /** @description the slot of its block; null unless it landed */
            landed_slot: (bigint) | null;
            /**
             * @description `Pending`, `Landed`, `Failed`, or `Invalid` for one that you did not submit
             * @enum {string}
             */
            status: "Pending" | "Landed" | "Failed" | "Invalid";
        };
        /**
         * InflightBundles
         * @description How far bundles have come.
         */
        InflightBundles: {
            /** @description what the answer is based on */
            context: components["schemas"]["SlotContext"];
            /** @description each bundle in the order of the request */
            value: components["schemas"]["InflightBundle"][];
        };
        /**
         * InnerInstructions
         * @description The calls of programs that one instruction led to.
         */
        InnerInstructions: {
            /** @description the place of that instruction in the message */
            index: bigint;
            /** @description the calls, in the order in which they ran */
            instructions: (components["schemas"]["CompiledInstruction"] | components["schemas"]["ParsedInstruction"] | components["schemas"]["UnparsedInstruction"])[];
        };
        /**
         * InstructionAccount
         * @description An account of an instruction.
         */
        InstructionAccount: {
            /** @description what the program's IDL calls it there; null without one */
            name: string | null;
            /** @description the account */
            pubkey: string;
        };
        /**
         * Job
         * @description How far a job is. Times are Unix seconds.
         */
        Job: {
            /** @description your own name for it; null without one */
            clientReference: string | null;
            /** @description how many of them have an answer */
            done: bigint;
            /** @description when its results are deleted; null before it ends */
            expiresAt: (bigint) | null;
            /** @description how many of these answers are errors */
            failed: bigint;
            /** @description why it failed; null unless it did */
            failure: string | null;
            /** @description when it ended; null before that */
            finishedAt: (bigint) | null;
            /** @description its id */
            jobId: string;
            /** @description when it began; null before that */
            startedAt: number | null;
            /**
             * @description `queued`, `running`, `done`, `cancelled` or `failed`
             * @enum {string}
             */
            state: "queued" | "running" | "done" | "cancelled" | "failed";
            /** @description when it was handed in */
            submittedAt: bigint;
            /** @description how many simulations it comes to */
            total: bigint;
        };
        /**
         * JobError
         * @description Why one simulation has no value: the error that a single call would get.
         */
        JobError: {
            /** @description the error's code */
            code: bigint;
            /** @description its reason, and what goes with it */
            data: {
                [key: string]: unknown;
            };
            /** @description the error's text */
            message: string;
        };
        /**
         * JobPosition
         * @description A position in the past: `slot`, or `anchor`, and not both.
         */
        JobPosition: {
            /** @description right before or after a transaction */
            anchor?: components["schemas"]["Anchor"];
            /** @description run on accounts as they were at this earlier slot */
            preStateSlot?: bigint | number;
            /** @description the end of this slot */
            slot?: bigint | number;
            /** @description not the end of the slot, but right after its transaction of this index */
            transactionIndex?: bigint | number;
        };
        /**
         * JobResult
         * @description One simulation of a job: it has a `value` with its `context`, or an `error`.
         */
        JobResult: {
            /** @description what the value is based on */
            context?: components["schemas"]["SimulationContext"];
            /** @description why there is no value */
            error?: components["schemas"]["JobError"];
            /** @description its place in the job, from 0 */
            number: bigint;
            /** @description the position, as simulateHistoricalTransaction takes one */
            position: {
                [key: string]: unknown;
            };
            /**
             * Signature
             * @description the transaction's signature
             */
            signature: string;
            /** @description the place of its transaction in the job, from 0 */
            transaction: bigint;
            /** @description what the transaction did */
            value?: components["schemas"]["SimulatedTransaction"];
        };
        /**
         * JobSpec
         * @description Transactions by their texts, or by signatures of the ledger, each at each of the positions; signatures without positions each right before itself.
         */
        JobSpec: {
            /** @description your own name for the job: handed in again under it, it is not run again */
            clientReference?: string;
            /** @description how to simulate: what simulateHistoricalTransaction takes, but for the position */
            config?: components["schemas"]["SimulationConfig"];
            /**
             * @description how the transactions are written; `base64` by default
             * @enum {string}
             */
            encoding?: "base58" | "base64";
            /** @description where in the past, or else `slotRange` */
            positions?: components["schemas"]["JobPosition"][];
            /** @description transactions of the ledger, by their signatures */
            signatures?: string[];
            /** @description the ends of a range of slots */
            slotRange?: components["schemas"]["SlotRange"];
            /** @description the transactions as text, or else `signatures` */
            transactions?: string[];
        };
        /**
         * KeyShown
         * @description The key as its holder may see it. Times are Unix seconds.
         */
        KeyShown: {
            /** @description when it was issued */
            createdAt: bigint;
            /** @description whose it is */
            customer: string;
            /** @description what it is for, as it was named when it was issued */
            environment: string;
            /** @description when it stops working; null: never */
            expiresAt: (bigint) | null;
            /** @description how its text ends */
            lastFour: string;
            /** @description its name */
            name: string;
            /** @description the addresses that it may be used from; empty allows any */
            networks: string[];
            /** @description only pages of these web origins may use it; empty allows any page, and programs */
            origins: string[];
            /** @description how its text begins */
            prefix: string;
        };
        /**
         * LandedBundle
         * @description A bundle that landed, in the block engine's own names.
         */
        LandedBundle: {
            /** @description its id */
            bundle_id: string;
            /** @description how deep in the chain that is: `processed`, `confirmed`, `finalized` */
            confirmation_status: string;
            /** @description always `{"Ok": null}`: a bundle with a failure does not land */
            err: {
                [key: string]: null;
            };
            /** @description the slot of its block */
            slot: bigint;
            /** @description the signatures, in their order */
            transactions: string[];
        };
        /**
         * LandedBundles
         * @description Where bundles landed.
         */
        LandedBundles: {
            /** @description what the answer is based on */
            context: components["schemas"]["SlotContext"];
            /** @description each bundle in the order of the request; null for one that has not landed, or is not yours */
            value: (components["schemas"]["LandedBundle"] | null)[];
        };
        /**
         * LedgerCoverage
         * @description The coverage, and what it is based on.
         */
        LedgerCoverage: {
            /** @description what the answer is based on */
            context: components["schemas"]["Context"];
            /** @description what is served */
            value: components["schemas"]["Coverage"];
        };
        /**
         * Limits
         * @description The limits of calls; those of subscriptions are the tier's. Callers without a key share the buckets of bundles and tip fetches among them.
         */
        Limits: {
            /** @description bundles that are sent */
            bundles: components["schemas"]["Bucket"];
            /** @description calls of a calendar month; null without a key */
            monthly: components["schemas"]["Monthly"] | null;
            /** @description calls of any kind; without a key those of one address */
            requests: components["schemas"]["Bucket"];
            /** @description batches of simulations */
            simulationJobs: components["schemas"]["SimulationJobs"];
            /** @description fetches of tip addresses */
            tipFetches: components["schemas"]["TipFetches"];
        };
        /**
         * ListConfig
         * @description What every method takes, and what to do if slots of the range are missing.
         */
        ListConfig: {
            /**
             * @description everything in the ledger is finalized; `confirmed` and `finalized` are served alike
             * @enum {string}
             */
            commitment?: "processed" | "confirmed" | "finalized";
            /**
             * @description `error` refuses a range with slots that are known to be missing. By default the list is returned, and the header `X-Ledger-Gaps` names these slots. The standard node does not have this option
             * @enum {string}
             */
            gaps?: "error";
            /** @description refuse to answer unless the ledger reaches this slot */
            minContextSlot?: bigint | number;
        };
        /**
         * LoadedAddresses
         * @description Accounts that are in lookup tables, not in the message itself.
         */
        LoadedAddresses: {
            /** @description those that may only be read */
            readonly: string[];
            /** @description those that may be written */
            writable: string[];
        };
        /**
         * Message
         * @description What was signed.
         */
        Message: {
            /** @description the message's own accounts, the fee payer first; with `jsonParsed` an object each, looked-up ones too */
            accountKeys: (string | components["schemas"]["MessageAccount"])[];
            /** @description accounts taken from lookup tables; omitted for legacy transactions */
            addressTableLookups?: components["schemas"]["AddressTableLookup"][] | null;
            /** @description which of them sign and which may be written; omitted with `jsonParsed` */
            header?: components["schemas"]["MessageHeader"];
            /** @description the instructions of the message */
            instructions: (components["schemas"]["CompiledInstruction"] | components["schemas"]["ParsedInstruction"] | components["schemas"]["UnparsedInstruction"])[];
            /**
             * Hash
             * @description the blockhash that it was made with, or a nonce
             */
            recentBlockhash: string;
        };
        /**
         * MessageAccount
         * @description An account of a transaction.
         */
        MessageAccount: {
            /**
             * Pubkey
             * @description the account
             */
            pubkey: string;
            /** @description whether it signed */
            signer: boolean;
            /** @description `transaction`, or `lookupTable` */
            source?: string;
            /** @description whether it may be written */
            writable: boolean;
        };
        /**
         * MessageHeader
         * @description How the message's own accounts are ordered: those that sign first, of these and of the others the writable ones first.
         */
        MessageHeader: {
            /** @description how many of these may only be read */
            numReadonlySignedAccounts: bigint;
            /** @description how many of the others may only be read */
            numReadonlyUnsignedAccounts: bigint;
            /** @description how many sign */
            numRequiredSignatures: bigint;
        };
        /**
         * MissingRuleEntry
         * @description A rule of the chain that the engine does not have: a run may end otherwise than on the chain.
         */
        MissingRuleEntry: {
            /**
             * Pubkey
             * @description the feature's, the program's or the sysvar's
             */
            address: string;
            /**
             * @description `feature`: it is active in that slot; `program`: a transaction names it, a builtin or a precompile; `sysvar`: a transaction names it
             * @enum {string}
             */
            kind: "feature" | "program" | "sysvar";
            /** @description what Agave calls the feature; null if this build does not know it, and for others */
            name: string | null;
        };
        /**
         * MonthOfCalls
         * @description The key's own calls of this calendar month (UTC), up to the last minute but one, by kind.
         */
        MonthOfCalls: {
            /** @description those that a method answered, with a result or an error: they take from the quota */
            counted: bigint;
            /** @description those that failed because of the service itself */
            failed: bigint;
            /** @description notifications of subscriptions, which are not calls */
            pushed: bigint;
            /** @description those that a right, a limit or the form of the request turned away */
            refused: bigint;
        };
        /**
         * Monthly
         * @description Calls of this calendar month (UTC) that count, up to the last minute but one: of the key with those that it was rotated from or into.
         */
        Monthly: {
            /** @description how many there may be; null if unlimited */
            limit: (bigint) | null;
            /** @description how many are left; null if unlimited */
            remaining: (bigint) | null;
            /** @description when the next month begins, in Unix seconds */
            resetsAt: bigint;
            /** @description how many there were */
            used: bigint;
        };
        /**
         * MultipleAccounts
         * @description The accounts, and what the answer is based on.
         */
        MultipleAccounts: {
            /** @description what the answer is based on */
            context: components["schemas"]["SeveralContext"];
            /** @description whether the answer was full before its end: from some entry on all are null for that, with the reason `truncated` */
            truncatedByBytes: boolean;
            /** @description the accounts in the order of the request; null for one that was not there */
            value: (components["schemas"]["AccountSnapshot"] | null)[];
        };
        /**
         * OverrideConfig
         * @description The state of an account to use instead; omitted members stay as they were. An account as getAccountInfo returns it may be passed as it is.
         */
        OverrideConfig: {
            /** @description its data in base64, or a pair of text and encoding: `base64`, `base58` or `base64+zstd` */
            data?: string | [
                string,
                "base64" | "base58" | "base64+zstd"
            ];
            /** @description whether it is a program; it has no effect without an owner that runs code */
            executable?: boolean;
            /** @description its balance */
            lamports?: bigint | number;
            /**
             * Pubkey
             * @description the program that it belongs to
             */
            owner?: string;
            /** @description taken and without effect */
            rentEpoch?: bigint | number;
            /** @description taken and without effect */
            rewindSlot?: bigint | number;
            /** @description taken and without effect */
            space?: bigint | number;
        };
        /**
         * OwnPlace
         * @description What a replay in the transaction's own place, without overrides, comes to.
         */
        OwnPlace: {
            /**
             * @description whether all of it matches the chain (`verified`), does not (`diverged`), or cannot be compared (`unverified`)
             * @enum {string}
             */
            fidelity: "verified" | "diverged" | "unverified";
            /** @description the fields that differ, if it diverged */
            fidelityFields: string[];
            /** @description a word for why it is unverified; else null */
            fidelityReason: string | null;
        };
        /**
         * PaidTip
         * @description The tip that a submission was accepted with.
         */
        PaidTip: {
            /**
             * Pubkey
             * @description where it goes
             */
            address: string;
            /** @description which instruction of the transaction pays it; null if that is not known */
            instructionIndex: (bigint) | null;
            /** @description how much it is */
            lamports: bigint;
        };
        /**
         * ParsedData
         * @description An account's data, read by the rules of its program.
         */
        ParsedData: {
            /** @description what the data says: `type`, and `info` with the fields of that type */
            parsed: {
                [key: string]: unknown;
            };
            /** @description the program's name, as in `spl-token` */
            program: string;
            /** @description length of the data in bytes */
            space: bigint;
        };
        /**
         * ParsedInstruction
         * @description An instruction of a known program, read.
         */
        ParsedInstruction: {
            /** @description what it does: `type` and `info`, or a memo's text */
            parsed: {
                [key: string]: unknown;
            } | string;
            /** @description the program's name, as in `system` */
            program: string;
            /**
             * Pubkey
             * @description the program
             */
            programId: string;
            /** @description how deep in calls of programs it ran, 1 for the message's own; null if unknown */
            stackHeight?: (bigint) | null;
        };
        /**
         * Place
         * @description The place of a transaction in the ledger.
         */
        Place: {
            /** @description its slot */
            slot: bigint;
            /** @description its place in the block */
            transactionIndex: bigint;
        };
        /**
         * ProofRange
         * @description A run of slots in the same state.
         */
        ProofRange: {
            /** @description the first of them */
            fromSlot: bigint;
            /** @description why they are `unproven` or `refuted`; absent if they are neither */
            reason?: string;
            /**
             * @description where stakes and voters are from: `snapshot`, `operator` (a bank hash in the settings), `node`, `stream` (vote accounts as the stream began with them), `accounts` (a number of vote accounts, whatever their stake) or `unchecked` (settled by an older version, which did not check signatures); absent if they are neither `proven` nor `consistent`
             * @enum {string}
             */
            restsOn?: "snapshot" | "operator" | "node" | "stream" | "accounts" | "unchecked";
            /** @description the slot of that snapshot or bank; absent without one */
            restsOnSlot?: bigint;
            /**
             * @description `proven`: more than two thirds of the stake signed what the archive has, by stakes and voters that the operator gave, or that follow from it; `consistent`: the same by stakes or voters that no one vouches for; `refuted`: they signed something else; `unproven`: none of it, or not yet
             * @enum {string}
             */
            state: "proven" | "consistent" | "refuted" | "unproven";
            /** @description the last of them */
            toSlot: bigint;
        };
        /**
         * ProofVote
         * @description A vote for the slot's bank.
         */
        ProofVote: {
            /** @description who may sign for it in that epoch; null if it is not known */
            authorizedVoter: string | null;
            /**
             * Signature
             * @description of the transaction that carries it
             */
            signature: string;
            /** @description of the block in which that landed */
            slot: bigint;
            /** @description of the account in the slot's epoch, in lamports; null if it is not known */
            stake: (bigint) | null;
            /** @description that transaction, base64 */
            transaction: string;
            /**
             * Pubkey
             * @description the vote account
             */
            votePubkey: string;
        };
        /**
         * ProvenSlot
         * @description All that shows what the cluster voted for: `manage.py verify_proof` checks it without us.
         */
        ProvenSlot: {
            /**
             * Hash
             * @description of the sum of all accounts at its end; a snapshot of that slot has it in its name
             */
            accountsLatticeChecksum: string;
            /** @description that sum, 2,048 bytes in base64; absent unless requested */
            accountsLatticeHash?: string;
            /**
             * Hash
             * @description its bank's hash, as it follows from the archive
             */
            bankHash: string;
            /**
             * Hash
             * @description the block's
             */
            blockhash: string;
            /** @description the slots with a block above it up to `votedThrough`, oldest first, at most 128; only the last of them has votes; absent unless requested */
            chain?: components["schemas"]["ProvenSlot"][];
            /** @description the slot's */
            epoch: bigint;
            /**
             * Hash
             * @description of that block's bank
             */
            parentBankHash: string;
            /** @description of the block before it */
            parentSlot: bigint;
            /** @description why it is `unproven` or `refuted`; null if it is neither */
            reason: string | null;
            /** @description where stakes and voters are from, as in getRewindCoverage; null if it is neither `proven` nor `consistent` */
            restsOn: ("snapshot" | "operator" | "node" | "stream" | "accounts" | "unchecked") | null;
            /** @description the slot of that snapshot or bank; null without one */
            restsOnSlot: (bigint) | null;
            /** @description signatures of the block's transactions, votes too */
            signatureCount: bigint;
            /** @description the slot */
            slot: bigint;
            /**
             * @description `proven`, `consistent`, `refuted` or `unproven`, as in getRewindCoverage
             * @enum {string}
             */
            state: "proven" | "consistent" | "refuted" | "unproven";
            /** @description of the epoch, in lamports; null if it is not known */
            totalStake: (bigint) | null;
            /** @description what these votes are for, if the slot is refuted; else null */
            votedBankHash: string | null;
            /** @description the slot whose votes settled it, its own or one above; null while none did */
            votedThrough: (bigint) | null;
            /** @description those that the ledger has for the bank of this slot, one for each vote account */
            votes: components["schemas"]["ProofVote"][];
        };
        /**
         * RemoteHistory
         * @description The blocks that are not stored here and read from an archive when they are asked for. A response that they have a part in has the header `X-History-Source`.
         */
        RemoteHistory: {
            /** @description the first slot of its first epoch */
            firstSlot: bigint;
            /** @description the last slot below the first stored block; null while none is stored */
            lastSlot: (bigint) | null;
            /** @description the network whose blocks it has */
            network: string;
            /** @description the epochs in which getTransaction looks for a signature */
            signatureEpochs: (bigint)[];
            /**
             * @description the kind of archive: `old-faithful`
             * @enum {string}
             */
            source: "old-faithful";
        };
        /**
         * ReplacementBlockhash
         * @description The blockhash that stood for the transaction's own.
         */
        ReplacementBlockhash: {
            /** @description the blockhash */
            blockhash: string;
            /** @description up to which block height it is good */
            lastValidBlockHeight: bigint;
        };
        /**
         * ResultPage
         * @description Results of a job.
         */
        ResultPage: {
            /** @description whether the job is over, so that no more results come than there are */
            complete: boolean;
            /** @description give it as `cursor` for those that follow; null if there will be no more */
            next: string | null;
            /** @description in the order of the job */
            results: components["schemas"]["JobResult"][];
            /** @description whether the page is shorter than asked for because it was full */
            truncatedByBytes: boolean;
        };
        /**
         * ResultsConfig
         * @description Which results.
         */
        ResultsConfig: {
            /** @description `next` of the page before */
            cursor?: string;
            /** @description how many a page: 100 by default, at most 1,000 */
            limit?: bigint | number;
        };
        /**
         * ReturnData
         * @description What a program returned last.
         */
        ReturnData: {
            /** @description the bytes in base64, and that word */
            data: [
                string,
                "base64"
            ];
            /**
             * Pubkey
             * @description the program
             */
            programId: string;
        };
        /**
         * Reward
         * @description Lamports that an account was given, or had taken, outside transactions.
         */
        Reward: {
            /** @description the vote account's share in per cent; null but for staking and voting */
            commission?: (bigint) | null;
            /** @description how much; below 0 if it was taken */
            lamports: bigint;
            /** @description what the account had then */
            postBalance: bigint;
            /**
             * Pubkey
             * @description the account
             */
            pubkey: string;
            /** @description `fee`, `rent`, `staking` or `voting`; null if unknown */
            rewardType: string | null;
        };
        /**
         * Context
         * @description What the answer is based on.
         */
        RewindContext: {
            /** @description the version of the archive's interface */
            apiVersion: string;
            /** @description whether the whole history would give the same answer */
            completeness: components["schemas"]["Completeness"];
            /** @description the newest run of missing slots between the state and the position: the account may have been written there; absent without such a run */
            gap?: components["schemas"]["GapEntry"];
            /** @description whether the cluster voted for what the archive has at the end of the position's slot; absent unless requested */
            proof?: components["schemas"]["Standing"];
            /** @description why the value is null (`closed`, `never_existed`, `before_first_record`, `filtered`), or `filtered` if the archive does not, or did not, follow the account; else absent */
            reason?: string;
            /** @description the position's slot */
            slot: bigint;
        };
        /**
         * Coverage
         * @description What the archive holds of a window of slots.
         */
        RewindCoverage: {
            /** @description the snapshots of the window's slots, newest first, at most 100 */
            baselines: components["schemas"]["BaselineEntry"][];
            /** @description how many of the missing ones were given up because no source has them any more */
            cannotBeHadSlotCount: bigint;
            /** @description the highest slot of the window that is proven or consistent: if it is only consistent, no one vouches for its stakes or voters; null without such a slot */
            consistentThrough: (bigint) | null;
            /** @description the archive's lowest slot; null while nothing is archived */
            earliestSlot: (bigint) | null;
            /** @description programs whose accounts the archive deliberately does not follow */
            filteredOwners: string[];
            /** @description accounts that the archive deliberately does not follow */
            filteredPubkeys: string[];
            /** @description the share of missing ones among those that are not skipped, in per cent; null if there are none of either */
            gapPercent: number | null;
            /** @description the runs of missing slots, lowest first; null unless requested */
            gaps: components["schemas"]["GapEntry"][] | null;
            /** @description how many of them are archived with each account's last write, but perhaps not every write */
            lastWritesOnlySlotCount: bigint;
            /** @description the archive's highest slot; null while nothing is archived */
            latestSlot: (bigint) | null;
            /** @description how many of them are not archived, and are not known to be skipped */
            missingSlotCount: bigint;
            /** @description what the counts mean, in a sentence */
            note: string;
            /** @description runs of the window's slots by state, lowest first, at most 1,000; slots that are in none are not computed yet */
            proof: components["schemas"]["ProofRange"][];
            /** @description the highest slot of the window that is proven: more than two thirds of the stake signed what the archive has, by stakes and voters that the operator gave, or that follow from it; null without such a slot */
            provenThrough: (bigint) | null;
            /** @description how many of them are known to hold no block */
            skippedSlotCount: bigint;
            /** @description how many slots the window has; null while nothing is archived */
            slotRange: (bigint) | null;
            /** @description how the window's slots are stored, lowest first */
            storage: components["schemas"]["RewindStorageBand"][];
            /** @description whether there are more gaps than were listed */
            truncated: boolean;
            /** @description how many of them are archived with every write */
            wholeSlotCount: bigint;
        };
        /**
         * StorageBand
         * @description A run of slots that are stored in one way. Reads are the same.
         */
        RewindStorageBand: {
            /**
             * @description `hot`, as it was written, `sealed`, packed, or `cold`, packed in the object store
             * @enum {string}
             */
            band: "hot" | "sealed" | "cold";
            /** @description the first of them */
            fromSlot: bigint;
            /** @description the last of them */
            toSlot: bigint;
        };
        /**
         * SendConfig
         * @description How to send.
         */
        SendConfig: {
            /**
             * @description how the transaction is written: `base58` by default
             * @enum {string}
             */
            encoding?: "base58" | "base64";
            /** @description how often to send it again; 0 sends it once. By default until it lands or never can */
            maxRetries?: bigint | number;
            /** @description taken and without effect */
            minContextSlot?: bigint | number;
            /** @description send to only these upstreams: names, or one text with commas. `bundle` means all block engines */
            onlyUpstreams?: string[] | string;
            /**
             * @description taken and without effect
             * @enum {string}
             */
            preflightCommitment?: "processed" | "confirmed" | "finalized";
            /** @description must be true: nothing is simulated before it is sent */
            skipPreflight?: boolean;
        };
        /**
         * SeveralContext
         * @description What the answer is based on.
         */
        SeveralContext: {
            /** @description the version of the archive's interface */
            apiVersion: string;
            /** @description whether the whole history would give the same answer */
            completeness: components["schemas"]["Completeness"];
            /** @description the newest run of missing slots below the position: it concerns the values that are older than it; absent without such a run */
            gap?: components["schemas"]["GapEntry"];
            /** @description for each value what an IDL of the account's owner says of its data; null if none reads it; absent unless requested */
            idl?: (components["schemas"]["IdlData"] | null)[];
            /** @description whether the cluster voted for what the archive has at the end of the position's slot; absent unless requested */
            proof?: components["schemas"]["Standing"];
            /** @description for each value why it is null (`closed`, `never_existed`, `before_first_record`, `filtered`, `truncated`); null if there is nothing to say */
            reason: (string | null)[];
            /** @description the position's slot */
            slot: bigint;
        };
        /**
         * ShownAccount
         * @description An account as a block engine shows it; one that is not there has no lamports.
         */
        ShownAccount: {
            /** @description a pair of text and encoding; an object if it was parsed */
            data: [
                string,
                "base64" | "base64+zstd" | "base58"
            ] | components["schemas"]["ParsedData"];
            /** @description how many bytes of data it has, where `data` is empty because the account was not asked for and the answer has no room for it; else absent */
            dataOmitted?: bigint;
            /** @description whether it is a program */
            executable: boolean;
            /** @description its balance */
            lamports: bigint;
            /**
             * Pubkey
             * @description the program that it belongs to
             */
            owner: string;
            /** @description the epoch in which it owes rent; 18446744073709551615 means never */
            rentEpoch: bigint;
            /** @description the length of its data in bytes */
            space: bigint;
        };
        /**
         * SignatureFilter
         * @description Compares base58 strings, not places in time.
         */
        SignatureFilter: {
            /** @description those that sort after it */
            gt?: string;
            /** @description this one and those that sort after it */
            gte?: string;
            /** @description those that sort before it */
            lt?: string;
            /** @description this one and those that sort before it */
            lte?: string;
        };
        /**
         * SignatureStatus
         * @description What became of a transaction.
         */
        SignatureStatus: {
            /**
             * @description always `finalized`
             * @enum {string}
             */
            confirmationStatus: "finalized";
            /** @description always null, because everything in the ledger is finalized */
            confirmations: null;
            /** @description what it failed by; null when it succeeded */
            err: string | {
                [key: string]: unknown;
            } | null;
            /** @description its slot */
            slot: bigint;
            /** @description the same as `{"Ok": null}` or `{"Err": …}`, for old clients */
            status: {
                [key: string]: unknown;
            };
        };
        /**
         * SignatureStatuses
         * @description The statuses, and what they are based on.
         */
        SignatureStatuses: {
            /** @description what the answer is based on */
            context: components["schemas"]["Context"];
            /** @description a status for each signature, in their order; null for one that the ledger does not have, or whose status the source of its block did not have */
            value: (components["schemas"]["SignatureStatus"] | null)[];
        };
        /**
         * SimulatedBundle
         * @description A bundle as one.
         */
        SimulatedBundle: {
            /** @description what it ran on */
            context: components["schemas"]["BundleContext"];
            /** @description what the first failing transaction failed by; null when all succeeded */
            err: string | {
                [key: string]: unknown;
            } | null;
            /** @description the programs' logs, in the order of the transactions */
            logs: string[];
            /** @description accounts after each transaction, likewise */
            postExecutionAccounts: (components["schemas"]["FlatAccount"] | null)[];
            /** @description accounts before each transaction, in their order; null for one that was not there. By default those that the transactions may write */
            preExecutionAccounts: (components["schemas"]["FlatAccount"] | null)[];
            /** @description what a program returned last; null without such data */
            returnData: components["schemas"]["FlatReturnData"] | null;
            /** @description compute units of all transactions together */
            unitsConsumed: bigint;
        };
        /**
         * SimulatedTransaction
         * @description What the transaction did, or would have done.
         */
        SimulatedTransaction: {
            /** @description the accounts that were asked for, as it left them; one that it loads and that is empty has 0 lamports, one that does not exist is null; null for each if it failed; null instead of the list unless requested */
            accounts: (components["schemas"]["AccountAfter"] | null)[] | null;
            /** @description what it failed by; null when it succeeded */
            err: string | {
                [key: string]: unknown;
            } | null;
            /**
             * @description of a transaction of the ledger that ran in its own place on its own state: whether all of it matches the chain (`verified`), does not (`diverged`), or cannot be compared (`unverified`, also if the ledger does not have the transaction); `not_applicable` for another position, or with overrides
             * @enum {string}
             */
            fidelity: "verified" | "diverged" | "unverified" | "not_applicable";
            /** @description the transaction's own place; null if the ledger does not have it */
            fidelityAt: components["schemas"]["Place"] | null;
            /** @description the fields that differ, if it diverged */
            fidelityFields: string[];
            /** @description a word for why it is unverified or, if known, why it diverged, such as `program_build_unknown`, or `engine_missing_rules` if `context.missingRules` names rules of the chain that the engine does not support; `another_position` or `overrides` if it is not applicable; else null */
            fidelityReason: string | null;
            /** @description calls of programs; null unless requested */
            innerInstructions: components["schemas"]["InnerInstructions"][] | null;
            /** @description the programs' log */
            logs: string[];
            /** @description if `fidelity` is not applicable, what it is in the transaction's own place; null if the ledger does not have it */
            ownPlace: components["schemas"]["OwnPlace"] | null;
            /** @description what a program returned last; null without such data */
            returnData: components["schemas"]["ReturnData"] | null;
            /** @description the slot of the accounts that it found */
            rewindLoadSlot: bigint;
            /** @description the accounts that were overridden */
            rewindOverriddenAccounts: string[];
            /** @description the accounts that were taken from another slot, and from which */
            rewindOverrideLoads: {
                [key: string]: bigint;
            };
            /** @description the slot that it ran in */
            rewindSlot: bigint;
            /** @description compute units that it took */
            unitsConsumed: bigint;
        };
        /**
         * SimulatedTransactions
         * @description A bundle in its parts.
         */
        SimulatedTransactions: {
            /** @description what it ran on */
            context: components["schemas"]["BundleContext"];
            /** @description the result */
            value: components["schemas"]["BundleValue"];
        };
        /**
         * Simulation
         * @description What the transaction did, and what the answer is based on.
         */
        Simulation: {
            /** @description what the answer is based on */
            context: components["schemas"]["SimulationContext"];
            /** @description what the transaction did */
            value: components["schemas"]["SimulatedTransaction"];
        };
        /**
         * SimulationConfig
         * @description Where in the past, on which accounts, and what is to be shown. Neither signatures nor the blockhash are checked on past state.
         */
        SimulationConfig: {
            /** @description accounts to be shown as the transaction left them, as simulateTransaction shows them */
            accounts?: components["schemas"]["AccountsConfig"];
            /** @description right before or after a transaction */
            anchor?: components["schemas"]["Anchor"];
            /**
             * @description taken and without effect: all that is archived is finalized
             * @enum {string}
             */
            commitment?: "processed" | "confirmed" | "finalized";
            /**
             * @description how the transaction is written; `base64` by default
             * @enum {string}
             */
            encoding?: "base58" | "base64";
            /** @description whether to return the calls of programs */
            innerInstructions?: boolean;
            /** @description accounts that are to be taken from another slot, by their pubkeys */
            overrideLoads?: {
                [key: string]: bigint | number;
            };
            /** @description accounts that are to be otherwise, by their pubkeys */
            overrides?: {
                [key: string]: components["schemas"]["OverrideConfig"];
            };
            /** @description run on accounts as they were at this earlier slot */
            preStateSlot?: bigint | number;
            /** @description whether `context.proof` says if the cluster voted for what the archive has */
            proof?: boolean;
            /** @description taken and without effect */
            replaceRecentBlockhash?: boolean;
            /** @description taken and without effect */
            sigVerify?: boolean;
            /** @description the end of this slot */
            slot?: bigint | number;
            /** @description answer with what is known, even if slots in between are missing */
            tolerateGaps?: boolean;
            /** @description not the end of the slot, but right after its transaction of this index */
            transactionIndex?: bigint | number;
        };
        /**
         * SimulationContext
         * @description What the answer is based on.
         */
        SimulationContext: {
            /** @description the version of the archive's interface */
            apiVersion: string;
            /** @description whether the whole history would give the same answer */
            completeness: components["schemas"]["Completeness"];
            /** @description the newest run of missing slots between the state and the position: an account may have been written there; absent without such a run */
            gap?: components["schemas"]["GapEntry"];
            /** @description rules of the chain that the engine does not support; absent without any */
            missingRules?: components["schemas"]["MissingRuleEntry"][];
            /** @description whether the cluster voted for what the archive has at the end of the slot of the accounts; absent unless requested */
            proof?: components["schemas"]["Standing"];
            /** @description the slot that it ran in */
            slot: bigint;
        };
        /**
         * SimulationJobs
         * @description Batches of simulations.
         */
        SimulationJobs: {
            /** @description how many jobs may be open at once */
            open: bigint;
            /** @description how many simulations one may ask for */
            simulationsPerJob: bigint;
        };
        /**
         * SlotContext
         * @description What the answer is based on.
         */
        SlotContext: {
            /** @description the newest slot */
            slot: bigint;
        };
        /**
         * SlotFilter
         * @description Slots.
         */
        SlotFilter: {
            /** @description those above this one */
            gt?: bigint | number;
            /** @description this one and those above */
            gte?: bigint | number;
            /** @description those below this one */
            lt?: bigint | number;
            /** @description this one and those below */
            lte?: bigint | number;
        };
        /**
         * SlotProofConfig
         * @description How much of the proof.
         */
        SlotProofConfig: {
            /** @description whether the proofs of the slots above it are, up to the one whose votes settle it; false by default */
            chain?: boolean;
            /** @description whether the 2,048 bytes of the sum of all accounts are in it; true by default */
            includeLattice?: boolean;
            /** @description whether the votes are; true by default */
            includeVotes?: boolean;
        };
        /**
         * SlotRange
         * @description The ends of these slots.
         */
        SlotRange: {
            /** @description the first slot, included */
            fromSlot: bigint | number;
            /** @description every so many slots; 1 by default */
            step?: bigint | number;
            /** @description the last slot, included */
            toSlot: bigint | number;
        };
        /**
         * Snapshots
         * @description Accounts to be shown of one transaction.
         */
        Snapshots: {
            /** @description the accounts */
            addresses: string[];
            /**
             * @description how their data is written: `base64` by default
             * @enum {string}
             */
            encoding?: "base64" | "base64+zstd" | "jsonParsed";
        };
        /**
         * Standing
         * @description Whether the cluster voted for what the archive has at the end of the position's slot.
         */
        Standing: {
            /**
             * Hash
             * @description that bank's hash, as the archive computes it; absent until it does
             */
            bankHash?: string;
            /** @description why it is `unproven` or `refuted`; absent if it is neither */
            reason?: string;
            /**
             * @description where stakes and voters are from, as in getRewindCoverage; absent if it is neither `proven` nor `consistent`
             * @enum {string}
             */
            restsOn?: "snapshot" | "operator" | "node" | "stream" | "accounts" | "unchecked";
            /** @description the slot of that snapshot or bank; absent without one */
            restsOnSlot?: bigint;
            /** @description which part of all stake the checked votes have, 0 to 1: no more are checked than are needed; absent if stakes are not known */
            share?: number;
            /** @description the slot with a block at or below the position, whose bank it is; absent until it is computed */
            slot?: bigint;
            /**
             * @description `proven`, `consistent`, `refuted` or `unproven`, as in getRewindCoverage
             * @enum {string}
             */
            state: "proven" | "consistent" | "refuted" | "unproven";
            /** @description the slot whose votes settled it, its own or one above; absent until votes did */
            votedThrough?: bigint;
            /** @description how many vote accounts these votes are of; absent without any */
            voters?: bigint;
        };
        /**
         * StatusesConfig
         * @description How to look.
         */
        StatusesConfig: {
            /**
             * @description everything in the ledger is finalized; `confirmed` and `finalized` are served alike
             * @enum {string}
             */
            commitment?: "processed" | "confirmed" | "finalized";
            /** @description refuse to answer unless the ledger reaches this slot */
            minContextSlot?: bigint | number;
            /** @description always true in effect: the ledger is all history */
            searchTransactionHistory?: boolean;
        };
        /**
         * StorageBand
         * @description A run of slots that are stored in one way.
         */
        StorageBand: {
            /**
             * @description `hot`, as it was written, or `sealed`, packed. Reads are the same
             * @enum {string}
             */
            band: "hot" | "sealed";
            /** @description the first of them */
            firstSlot: bigint;
            /** @description the last of them */
            lastSlot: bigint;
        };
        /**
         * Submitted
         * @description A job that was taken.
         */
        Submitted: {
            /** @description its id */
            jobId: string;
            /**
             * @description `queued`, or its state if the same job was submitted before
             * @enum {string}
             */
            state: "queued" | "running" | "done" | "cancelled" | "failed";
            /** @description when it was handed in, in Unix seconds */
            submittedAt: bigint;
            /** @description how many simulations it comes to */
            total: bigint;
        };
        /**
         * TimeFilter
         * @description Block times in Unix seconds. A transaction without a block time matches none.
         */
        TimeFilter: {
            /** @description just then */
            eq?: bigint | number;
            /** @description later */
            gt?: bigint | number;
            /** @description then and later */
            gte?: bigint | number;
            /** @description earlier */
            lt?: bigint | number;
            /** @description then and earlier */
            lte?: bigint | number;
        };
        /**
         * TipFetches
         * @description A bucket under a cap of the UTC day.
         */
        TipFetches: {
            /** @description how many it holds */
            burst: (bigint) | null;
            /** @description how many fetches a UTC day; null if unlimited */
            dailyCap: (bigint) | null;
            /** @description how many tokens come into it a second */
            perSecond: number | null;
            /** @description how many are in it, or somewhat fewer, since processes prefetch some; null also while that is unknown */
            remaining: (bigint) | null;
            /** @description how many of them are left; null if unlimited */
            remainingToday: (bigint) | null;
            /** @description until it is full again */
            resetSeconds: (bigint) | null;
        };
        /**
         * TokenAmount
         * @description An amount of tokens.
         */
        TokenAmount: {
            /** @description in the smallest unit, as text: it may not fit a float */
            amount: string;
            /** @description the number of digits behind the point */
            decimals: bigint;
            /** @description the amount with its point, as a float that may be rounded; null if it is unknown */
            uiAmount: number | null;
            /** @description the same as text, exact */
            uiAmountString: string;
        };
        /**
         * TokenBalance
         * @description What a token account held.
         */
        TokenBalance: {
            /** @description the account's place among the transaction's accounts */
            accountIndex: bigint;
            /**
             * Pubkey
             * @description the token
             */
            mint: string;
            /**
             * Pubkey
             * @description who the tokens belong to
             */
            owner?: string;
            /**
             * Pubkey
             * @description the token program that the account belongs to
             */
            programId?: string;
            /** @description how many tokens */
            uiTokenAmount: components["schemas"]["TokenAmount"];
        };
        /**
         * TokenBalanceChange
         * @description Tokens of a token account. Amounts are text with the point of the mint's decimals.
         */
        TokenBalanceChange: {
            /** @description after it */
            after: string;
            /** @description before the transaction, `0` if the account did not exist */
            before: string;
            /** @description the difference; null if an amount is not a number */
            change: string | null;
            /** @description the most digits behind the point; null if it is not recorded */
            decimals: (bigint) | null;
            /** @description the token */
            mint: string;
            /** @description who owns it; null if it is not recorded */
            owner: string | null;
            /** @description the token account */
            pubkey: string;
        };
        /**
         * TransactionAccounts
         * @description A transaction with `transactionDetails` `accounts`.
         */
        TransactionAccounts: {
            /** @description its accounts, looked-up ones too */
            accountKeys: components["schemas"]["MessageAccount"][];
            /** @description the signatures, its own name first */
            signatures: string[];
        };
        /**
         * TransactionConfig
         * @description How a transaction is written.
         */
        TransactionConfig: {
            /**
             * @description everything in the ledger is finalized; `confirmed` and `finalized` are served alike
             * @enum {string}
             */
            commitment?: "processed" | "confirmed" | "finalized";
            /**
             * @description `json` by default; `jsonParsed` reads what known programs were asked. `base64` and `base58` are the transaction's own bytes, and `binary` is base58 as bare text
             * @enum {string}
             */
            encoding?: "binary" | "base64" | "base58" | "json" | "jsonParsed";
            /**
             * @description `current` (the default) writes a transaction of any age as a node of today does; `source` as the source that it was recorded from did, without the fields that it did not know. No option of the standard node
             * @enum {string}
             */
            form?: "current" | "source";
            /** @description the newest version that you can read: 1 today. Without it only legacy transactions are answered. With 1 and more, base58 is refused */
            maxSupportedTransactionVersion?: bigint | number;
            /** @description refuse to answer unless the ledger reaches this slot */
            minContextSlot?: bigint | number;
        };
        /**
         * TransactionEntry
         * @description A transaction of the ledger.
         */
        TransactionEntry: {
            /** @description when its block was made, in Unix seconds; null if that was not recorded */
            blockTime: (bigint) | null;
            /** @description what it did; null without one in the source */
            meta: components["schemas"]["TransactionMeta"] | null;
            /** @description its slot */
            slot: bigint;
            /** @description the transaction itself, an object, or a pair of text and encoding */
            transaction: components["schemas"]["TransactionJson"] | components["schemas"]["TransactionAccounts"] | [
                string,
                "base64" | "base58"
            ] | string;
            /** @description its place in the block, from 0 */
            transactionIndex: bigint;
            /** @description its version; absent unless `maxSupportedTransactionVersion` is given, and if `meta` is null */
            version?: "legacy" | (bigint);
        };
        /**
         * TransactionJson
         * @description A transaction in the encodings `json` and `jsonParsed`.
         */
        TransactionJson: {
            /** @description what was signed */
            message: components["schemas"]["Message"];
            /** @description the signatures, its own name first */
            signatures: string[];
        };
        /**
         * TransactionMeta
         * @description What a transaction did. Balances are in the order of its accounts: the message's own, then the looked-up writable, then the looked-up read-only ones.
         */
        TransactionMeta: {
            /** @description compute units that it took */
            computeUnitsConsumed?: bigint;
            /** @description what it took of the block's room; omitted if the source had none */
            costUnits?: bigint;
            /** @description what it failed by; null when it succeeded */
            err: string | {
                [key: string]: unknown;
            } | null;
            /** @description what was paid for it, in lamports */
            fee: bigint;
            /** @description calls of programs; null if they were not recorded */
            innerInstructions?: components["schemas"]["InnerInstructions"][] | null;
            /** @description accounts from lookup tables */
            loadedAddresses?: components["schemas"]["LoadedAddresses"];
            /** @description the programs' log; null if it was not recorded */
            logMessages?: string[] | null;
            /** @description lamports of each account after it */
            postBalances: (bigint)[];
            /** @description token accounts after it */
            postTokenBalances?: components["schemas"]["TokenBalance"][] | null;
            /** @description lamports of each account before it */
            preBalances: (bigint)[];
            /** @description token accounts before it */
            preTokenBalances?: components["schemas"]["TokenBalance"][] | null;
            /** @description omitted if no program returned anything */
            returnData?: components["schemas"]["ReturnData"];
            /** @description only old transactions have them; null unless requested */
            rewards?: components["schemas"]["Reward"][] | null;
            /** @description the same as `{"Ok": null}` or `{"Err": …}`, for old clients */
            status: {
                [key: string]: unknown;
            };
        };
        /**
         * UnparsedInstruction
         * @description An instruction of a program that is not known.
         */
        UnparsedInstruction: {
            /** @description the accounts that it is given */
            accounts: string[];
            /** @description its bytes in base58 */
            data: string;
            /**
             * Pubkey
             * @description the program
             */
            programId: string;
            /** @description how deep in calls of programs it ran, 1 for the message's own; null if unknown */
            stackHeight?: (bigint) | null;
        };
        /**
         * UsedIdl
         * @description An IDL that programs of the transaction were read by.
         */
        UsedIdl: {
            /** @description the first slot that an uploaded one holds in; else null */
            fromSlot: (bigint) | null;
            /** @description what the IDL calls it */
            name: string;
            /** @description the program */
            programId: string;
            /**
             * @description `uploaded` to this service, or from the chain: `anchor` or `programMetadata`. What is on chain is the word of the account's authority
             * @enum {string}
             */
            source: "uploaded" | "anchor" | "programMetadata";
            /** @description the IDL's version; may be empty */
            version: string;
        };
        /**
         * WhoAmI
         * @description Who calls, with which rights and limits.
         */
        WhoAmI: {
            /** @description where the call came from, as the service sees it */
            address: string;
            /** @description what is taken from the limits */
            costs: components["schemas"]["Costs"];
            /** @description the host of the request */
            host: string;
            /** @description the tier hosts that the key may use */
            hosts: string[];
            /** @description the key; null without one */
            key: components["schemas"]["KeyShown"] | null;
            /** @description what may be asked for, and what is left */
            limits: components["schemas"]["Limits"];
            /** @description the only methods that it may call; null: all that its scopes have */
            methods: string[] | null;
            /** @description the rights of the key */
            scopes: string[];
            /** @description the service's clock, in Unix seconds */
            serverTime: bigint;
            /** @description the class of service */
            tier: string;
            /** @description calls of this month; null without a key */
            usage: components["schemas"]["MonthOfCalls"] | null;
        };
        /**
         * Addresses
         * @description The response to a fetch with parameters.
         */
        Addresses: {
            /** @description addresses that are issued to you only; fewer than requested if no more are left */
            addresses: string[];
            /** @description when all of them expire, in Unix seconds */
            expires_at: bigint;
            /** @description the name of this edge; the addresses are valid at every edge */
            issued_by: string;
            /** @description the smallest tip to an address; the chain refuses smaller transfers */
            min_lamports: bigint;
            /** @description the requested `ttl` */
            requested_ttl_seconds: bigint;
            /** @description their class */
            ttl_seconds: bigint;
        };
        /**
         * Alive
         * @description This process answers.
         */
        Alive: {
            /**
             * @description always the same word
             * @enum {string}
             */
            status: "ok";
            /** @description of the service */
            version: string;
        };
        /**
         * CheckAnswer
         * @description The result of one check. Some have more members, such as the newest slot.
         */
        CheckAnswer: {
            /** @description the outage, if that is why: the reason with which calls are refused; or what is wrong with the stream of the chain: `stream_silent`, `stream_not_connected`, `follower_ended` */
            cause?: string;
            /** @description how long it took */
            milliseconds: number;
            /** @description whether it passed */
            ok: boolean;
            /** @description what an operator can do about it */
            remedy?: string;
            /** @description what is wrong, if it did not pass */
            why?: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * Error
         * @description Why the request failed. Further members say what was required and found.
         */
        Error: {
            /** @description the reason, a stable identifier */
            error: string;
            /** @description the reason as a sentence */
            message?: string;
        };
        /**
         * FateEvent
         * @description A change of a submission's fate, as an event of the stream.
         */
        FateEvent: {
            /** @description when it changed, in Unix seconds with their fractions */
            at: number;
            /** @description the bundle in which you sent it; null if it came alone */
            bundleId: string | null;
            /** @description how deep in the chain its block is; null before it landed */
            commitment: string | null;
            /** @description what it failed by; null when it did not */
            err: string | {
                [key: string]: unknown;
            } | null;
            /** @description whether it stays so */
            final: boolean;
            /** @description how long it waited to be sent; null before it went out */
            queueMilliseconds: (bigint) | null;
            /** @description why it never landed; null unless that is known */
            reason: string | null;
            /** @description `active` while the service sends it until it lands; `stopped` when it no longer does although it can still land, as on a durable nonce; null in a block, and once it is final */
            sending: ("active" | "stopped") | null;
            /** @description why it is `stopped`; null otherwise */
            sendingStopped: string | null;
            /**
             * Signature
             * @description the transaction's signature
             */
            signature: string;
            /** @description the slot of its block; null before it landed */
            slot: (bigint) | null;
            /**
             * @description how far it has come
             * @enum {string}
             */
            state: "received" | "sent" | "landed" | "failed" | "expired" | "refused";
            /** @description its place in the block; null before it landed */
            transactionIndex: (bigint) | null;
        };
        /**
         * FetchQuota
         * @description The fetch limits of your key, or of callers without a key.
         */
        FetchQuota: {
            /** @description fetches at once after a pause */
            fetch_burst: bigint;
            /** @description fetches a UTC day; null if unlimited */
            fetch_daily_cap: (bigint) | null;
            /** @description fetches a second */
            fetch_rate_per_second: number;
        };
        /** @description A problem for the operator. */
        ManagedAlarm: {
            /** Format: date-time */
            readonly acknowledgedAt: string | null;
            acknowledgedBy: string | null;
            /**
             * Format: date-time
             * @description when the condition was seen first
             */
            readonly beganAt: string;
            /** Format: date-time */
            readonly closedAt: string | null;
            readonly id: bigint;
            /** Format: date-time */
            readonly openedAt: string | null;
            rule: string;
            /** @description the paragraph of the docs on the rule: when it opens, and what to do */
            readonly runbookUrl: string;
            /**
             * @description * `critical` - Critical
             *     * `warning` - Warning
             * @enum {string}
             */
            readonly severity: "critical" | "warning";
            /**
             * @description what it is about
             * @default
             */
            readonly subject: string;
            /** @description the problem, in words */
            readonly text: string;
        };
        /** @description Slots that are not stored, both ends included. */
        ManagedArchiveGap: {
            /** @description stream_lost, follower_down, writes_missing, … */
            readonly cause: string;
            /** Format: date-time */
            readonly closedAt: string | null;
            /** @description What filled it, or proved it skipped */
            readonly closedBy: string;
            readonly fromSlot: bigint;
            history: {
                [key: string]: string;
            }[];
            readonly id: bigint;
            /**
             * Format: date-time
             * @description Empty: at once
             */
            readonly nextTryAt: string | null;
            /** Format: date-time */
            readonly openedAt: string;
            /**
             * @description * `open` - open
             *     * `given_up` - given_up
             *     * `closed` - closed
             * @enum {string}
             */
            state: "open" | "given_up" | "closed";
            status: string;
            readonly toSlot: bigint;
            readonly tries: bigint;
        };
        /** @description One attempt of a delivery: the HTTP status (of a mail 250), or the problem. */
        ManagedAttempt: {
            /** Format: date-time */
            readonly at: string;
            readonly milliseconds: number;
            readonly problem: string;
            /** @description HTTP status */
            readonly status: bigint | null;
        };
        /** @description One action of staff, of a customer, or of a program with a root key. */
        ManagedAuditEntry: {
            readonly address: string | null;
            /** Format: date-time */
            readonly at: string;
            /** @description {field: [before, after]} */
            changes: {
                [key: string]: unknown;
            };
            /** @description SHA-256 over the entry before and this one's content */
            readonly digest: string;
            readonly id: bigint;
            readonly requestId: string;
            readonly subject: string;
            readonly subjectId: string;
            /** @description app.model */
            readonly subjectType: string;
            readonly text: string;
            /** @description added, changed, deleted, signed in, … */
            readonly verb: string;
            /** @description the user's name at the time */
            readonly who: string;
        };
        /** @description Calls by their kind: only `counted` ones count against a monthly limit. */
        ManagedCounts: {
            counted: bigint;
            failed: bigint;
            /** @description notifications */
            pushed: bigint;
            refused: bigint;
        };
        /** @description The results of getLedgerCoverage and getRewindCoverage. */
        ManagedCoverage: {
            archive: {
                [key: string]: unknown;
            };
            ledger: {
                [key: string]: unknown;
            };
        };
        /** @description A holder of API keys. */
        ManagedCustomer: {
            /**
             * Mail alerts
             * @description mail to the address above what concerns the keys: expiry, quota, suspension
             */
            readonly alertMails: boolean;
            /** Format: date-time */
            readonly createdAt: string;
            /** @description may be empty */
            email: string;
            readonly id: bigint;
            readonly name: string;
            readonly notes: string;
        };
        /** @description A customer to add, or what to change of one. */
        ManagedCustomerBody: {
            /**
             * Mail alerts
             * @description mail to the address above what concerns the keys: expiry, quota, suspension
             */
            alertMails?: boolean;
            /** @description gets the mails about this customer's keys */
            email?: string;
            name: string;
            notes?: string;
        };
        /** @description One event for one webhook, or for one mail address that a rule names. */
        ManagedDelivery: {
            readonly about: string;
            /** Format: date-time */
            readonly at: string;
            readonly attempts: components["schemas"]["ManagedAttempt"][];
            /** Format: date-time */
            readonly deliveredAt: string | null;
            /**
             * Format: date-time
             * @description when the next attempt is due
             */
            readonly dueAt: string;
            readonly id: bigint;
            readonly kind: string;
            /** Format: email */
            readonly mailTo: string;
            /** @description the `webhook-id` of its requests */
            readonly messageId: string;
            readonly rule: bigint | null;
            /**
             * @description * `waiting` - Waiting
             *     * `delivered` - Delivered
             *     * `failed` - given up
             * @enum {string}
             */
            readonly state: "waiting" | "delivered" | "failed";
            /** @description attempts since it was last queued */
            readonly tries: bigint;
            readonly webhook: bigint | null;
        };
        /** @description A new API key with its secret, which no other response has. */
        ManagedIssuedKey: {
            /** @description calls that this key may make in a calendar month (UTC); empty applies its tier's limit */
            readonly callsPerMonth: bigint | null;
            /** Format: date-time */
            readonly createdAt: string;
            /** @description who issued it; null if that is not known, and for tokens if it was the operator */
            readonly createdBy: string | null;
            readonly customer: bigint;
            readonly environment: string;
            /** Format: date-time */
            readonly expiresAt: string | null;
            readonly id: bigint;
            /** @description how its secret ends */
            lastFour: string;
            readonly lastUsedAddress: string | null;
            /** Format: date-time */
            readonly lastUsedAt: string | null;
            methods: string[];
            readonly name: string;
            networks: string[];
            readonly notes: string;
            origins: string[];
            /** @description how its secret begins */
            prefix: string;
            /**
             * Calls per second
             * Format: double
             * @description calls per second of this key; empty applies its tier's limit, which is the maximum
             */
            readonly requestsPerSecond: number | null;
            /** Format: date-time */
            readonly revokedAt: string | null;
            readonly rotatedFrom: bigint | null;
            readonly rotatedTo: bigint | null;
            scopes: ("priority" | "bundle" | "rewind" | "historical" | "simulate" | "proxy")[];
            secret: string;
            /** @enum {string} */
            readonly state: "active" | "expiring" | "suspended" | "expired" | "revoked";
            /** Format: date-time */
            readonly suspendedAt: string | null;
            readonly tier: string;
        };
        /** @description An API key, without its secret. */
        ManagedKey: {
            /** @description calls that this key may make in a calendar month (UTC); empty applies its tier's limit */
            readonly callsPerMonth: bigint | null;
            /** Format: date-time */
            readonly createdAt: string;
            /** @description who issued it; null if that is not known, and for tokens if it was the operator */
            readonly createdBy: string | null;
            readonly customer: bigint;
            readonly environment: string;
            /** Format: date-time */
            readonly expiresAt: string | null;
            readonly id: bigint;
            /** @description how its secret ends */
            lastFour: string;
            readonly lastUsedAddress: string | null;
            /** Format: date-time */
            readonly lastUsedAt: string | null;
            methods: string[];
            readonly name: string;
            networks: string[];
            readonly notes: string;
            origins: string[];
            /** @description how its secret begins */
            prefix: string;
            /**
             * Calls per second
             * Format: double
             * @description calls per second of this key; empty applies its tier's limit, which is the maximum
             */
            readonly requestsPerSecond: number | null;
            /** Format: date-time */
            readonly revokedAt: string | null;
            readonly rotatedFrom: bigint | null;
            readonly rotatedTo: bigint | null;
            scopes: ("priority" | "bundle" | "rewind" | "historical" | "simulate" | "proxy")[];
            /** @enum {string} */
            readonly state: "active" | "expiring" | "suspended" | "expired" | "revoked";
            /** Format: date-time */
            readonly suspendedAt: string | null;
            readonly tier: string;
        };
        /** @description Calls of one key; null: without a key. */
        ManagedKeyCalls: {
            counts: components["schemas"]["ManagedCounts"];
            key?: bigint | null;
        };
        /** @description Slots that are not stored, both ends included. */
        ManagedLedgerGap: {
            /** @description stream_lost, follower_down, writes_missing, … */
            readonly cause: string;
            /** Format: date-time */
            readonly closedAt: string | null;
            /** @description What filled it, or proved it skipped */
            readonly closedBy: string;
            readonly fromSlot: bigint;
            history: {
                [key: string]: string;
            }[];
            readonly id: bigint;
            /**
             * Format: date-time
             * @description Empty: at once
             */
            readonly nextTryAt: string | null;
            /** Format: date-time */
            readonly openedAt: string;
            /**
             * @description * `open` - open
             *     * `given_up` - given_up
             *     * `closed` - closed
             * @enum {string}
             */
            state: "open" | "given_up" | "closed";
            status: string;
            readonly toSlot: bigint;
            readonly tries: bigint;
        };
        /** @description How much longer the old key works beside its successor. */
        ManagedLongerOverlap: {
            moreHours: bigint | number;
        };
        /** @description A user of a customer's portal. */
        ManagedMember: {
            /** Format: date-time */
            readonly createdAt: string;
            readonly customer: bigint;
            readonly email: string;
            /**
             * @description whether signing in takes a code of an authenticator app
             * @default false
             */
            hasSecondFactor?: boolean;
            readonly id: bigint;
            /**
             * @description * `owner` - Owner
             *     * `developer` - Developer
             *     * `reader` - Reader
             * @enum {string}
             */
            readonly role: "owner" | "developer" | "reader";
            /** Format: date-time */
            signedInAt: string | null;
            /** @description active, invited (without a password yet) or deactivated */
            readonly state: string;
        };
        /** @description A member; `link` sets the password, once, and is null if it is being mailed. */
        ManagedMemberWithLink: {
            /** Format: date-time */
            readonly createdAt: string;
            readonly customer: bigint;
            readonly email: string;
            /**
             * @description whether signing in takes a code of an authenticator app
             * @default false
             */
            hasSecondFactor?: boolean;
            readonly id: bigint;
            link: string | null;
            /**
             * @description * `owner` - Owner
             *     * `developer` - Developer
             *     * `reader` - Reader
             * @enum {string}
             */
            readonly role: "owner" | "developer" | "reader";
            /** Format: date-time */
            signedInAt: string | null;
            /** @description active, invited (without a password yet) or deactivated */
            readonly state: string;
        };
        /** @description Calls of one method with one outcome. */
        ManagedMethod: {
            calls: bigint;
            method: string;
            /**
             * Format: double
             * @description mean duration
             */
            milliseconds: number;
            /** @description `ok`, or the refusal's reason */
            status: string;
        };
        /**
         * @description A key to issue. A root key names the customer and the tier. The token of a customer takes the
         *     tier and at most the rights of the key `like`, by default of the one with the lowest tier.
         */
        ManagedNewKey: {
            /**
             * Format: int64
             * @description null applies its tier's limit
             */
            callsPerMonth?: bigint | number | null;
            /** Format: int64 */
            customer?: bigint | number;
            environment?: string;
            /** Format: date-time */
            expiresAt?: string | null;
            /** Format: int64 */
            like?: bigint | number;
            /** @description methods that the key may call; empty allows all methods of its scopes */
            methods?: string[];
            /** @description what the key is for */
            name: string;
            /** @description CIDR list: addresses that may use the key; empty allows any address */
            networks?: string[];
            notes?: string;
            /** @description only pages of these web origins may use the key; empty allows any page and program */
            origins?: string[];
            /**
             * Format: double
             * @description calls per second; null applies its tier's limit, which is the maximum
             */
            requestsPerSecond?: number | null;
            scopes?: ("priority" | "bundle" | "rewind" | "historical" | "simulate" | "proxy")[];
            tier?: string;
        };
        /** @description A member to invite. A root key names the customer. */
        ManagedNewMember: {
            /** Format: int64 */
            customer?: bigint | number;
            /** Format: email */
            email: string;
            /**
             * @description * `owner` - Owner
             *     * `developer` - Developer
             *     * `reader` - Reader
             * @enum {string}
             */
            role: "owner" | "developer" | "reader";
        };
        /** @description A rule to add. A root key names the customer. */
        ManagedNewRule: {
            condition?: components["schemas"]["ManagedRuleCondition"];
            /** Format: int64 */
            customer?: bigint | number;
            /** @description whether the events are mailed to the customer */
            mails?: boolean;
            name: string;
            /**
             * @description * `submission` - The final fate of a submitted transaction
             *     * `landing_share` - The share of landed transactions falls below a threshold
             *     * `tip_spend` - Spending on tips exceeds a threshold
             *     * `account` - A write to an account
             *     * `program` - A write to an account of a program
             *     * `mention` - A transaction that mentions an address
             * @enum {string}
             */
            trigger: "submission" | "landing_share" | "tip_spend" | "account" | "program" | "mention";
            /**
             * Format: int64
             * @description the customer's webhook that gets the events, whatever types it has chosen
             */
            webhook?: bigint | number | null;
        };
        /** @description A webhook to add; for root keys without a customer it is the staff's. */
        ManagedNewWebhook: {
            /** Format: int64 */
            customer?: bigint | number | null;
            /** @description the events to deliver; empty means all */
            kinds?: string[];
            name: string;
            url: string;
        };
        /** @description How long the old key works beside its successor. */
        ManagedOverlap: {
            /** @default 24 */
            overlapHours?: bigint | number;
        };
        /** @description Which deliveries of a rule to send again: of events from `since` on and before `until`. */
        ManagedReplay: {
            /** Format: date-time */
            since: string;
            /** @description by default both */
            states?: ("delivered" | "failed")[];
            /**
             * Format: date-time
             * @description by default now
             */
            until?: string;
        };
        /** @description How many deliveries were queued again. */
        ManagedReplayed: {
            queued: bigint;
        };
        /** @description An event rule. `condition` has the members that go with its trigger. */
        ManagedRule: {
            condition: components["schemas"]["ManagedRuleCondition"];
            /** Format: date-time */
            readonly createdAt: string;
            readonly customer: bigint;
            readonly disabledReason: string;
            /**
             * Format: date-time
             * @description it is about what happens from then on
             */
            readonly enabledAt: string;
            readonly id: bigint;
            readonly isEnabled: boolean;
            /**
             * Format: date-time
             * @description since when the landing share has been below the threshold
             */
            lowSince: string | null;
            /** @description events are mailed to the customer */
            readonly mails: boolean;
            readonly name: string;
            /**
             * @description * `submission` - The final fate of a submitted transaction
             *     * `landing_share` - The share of landed transactions falls below a threshold
             *     * `tip_spend` - Spending on tips exceeds a threshold
             *     * `account` - A write to an account
             *     * `program` - A write to an account of a program
             *     * `mention` - A transaction that mentions an address
             * @enum {string}
             */
            trigger: "submission" | "landing_share" | "tip_spend" | "account" | "program" | "mention";
            readonly webhook: bigint | null;
        };
        /**
         * @description What must be so, by the trigger: `submission` has `states` and `keys`; `landing_share`
         *     `belowPercent`, `minutes`, `leastSubmissions` and `keys`; `tip_spend` `aboveLamports`, `period`
         *     and `keys`; `account` `address`; `program` `program` and `filters`; `mention` `address` and
         *     `outcome`.
         */
        ManagedRuleCondition: {
            /** Format: int64 */
            aboveLamports?: bigint | number;
            /** @description base58 */
            address?: string;
            belowPercent?: bigint | number;
            /** @description as in `programSubscribe` */
            filters?: unknown[];
            /** @description ids of API keys whose submissions count; empty means all of the customer */
            keys?: (bigint | number)[];
            /** @description with fewer settled ones the share is not compared; 20 by default */
            leastSubmissions?: bigint | number;
            /**
             * @description 60 by default
             *
             *     * `15` - 15
             *     * `60` - 60
             *     * `360` - 360
             * @enum {integer}
             */
            minutes?: 15 | 60 | 360;
            /**
             * @description any by default
             *
             *     * `any` - any
             *     * `landed` - landed
             *     * `failed` - failed
             * @enum {string}
             */
            outcome?: "any" | "landed" | "failed";
            /**
             * @description of UTC; day by default
             *
             *     * `hour` - hour
             *     * `day` - day
             *     * `month` - month
             * @enum {string}
             */
            period?: "hour" | "day" | "month";
            /** @description base58 */
            program?: string;
            /** @description final fates; without them: all */
            states?: ("landed" | "failed" | "expired" | "refused")[];
        };
        /** @description Calls of one step of time. */
        ManagedStep: {
            counts: components["schemas"]["ManagedCounts"];
            /** Format: date-time */
            start: string;
        };
        /** @description An accepted transaction and what became of it; final once `settledAt` is set. */
        ManagedSubmission: {
            /** Format: date-time */
            readonly acceptedAt: string;
            readonly acceptedSlot: bigint | null;
            bundleId?: string | null;
            readonly commitment: string;
            err: unknown | null;
            readonly id: bigint;
            readonly key: bigint | null;
            /**
             * @description * `transaction` - Transaction
             *     * `bundle` - transaction of a bundle
             *     * `sweep` - sweep of tips
             * @enum {string}
             */
            readonly kind: "transaction" | "bundle" | "sweep";
            readonly reason: string;
            readonly requestId: string;
            /** Format: date-time */
            readonly seenAt: string | null;
            /** Format: date-time */
            readonly sentAt: string | null;
            /** Format: date-time */
            readonly settledAt: string | null;
            signature: string;
            readonly slot: bigint | null;
            /**
             * @description * `received` - received
             *     * `sent` - sent
             *     * `landed` - landed
             *     * `failed` - failed
             *     * `expired` - expired
             *     * `refused` - refused
             * @enum {string}
             */
            readonly state: "received" | "sent" | "landed" | "failed" | "expired" | "refused";
            readonly tier: string;
            tipAddress: string | null;
            readonly tipLamports: bigint | null;
            readonly transactionIndex: bigint | null;
            readonly tries: bigint;
        };
        /** @description An address of a sweep, and the balance that it moves. */
        ManagedSweptAddress: {
            address: string;
            readonly lamports: bigint;
        };
        /** @description A class of service. A limit of null means unlimited. */
        ManagedTier: {
            /** @description bundles that may come at once after a pause */
            readonly bundlesBurst: bigint;
            /**
             * Format: double
             * @description bundles per second; empty means no limit
             */
            readonly bundlesPerSecond: number | null;
            /** @description calls that one key may make in a calendar month (UTC); empty means no limit */
            readonly callsPerMonth: bigint | null;
            readonly id: bigint;
            /** @description share of the landers' work while submissions wait: with 4, four of this tier are sent for one of a tier with 1 */
            readonly landingWeight: bigint;
            readonly name: string;
            /** @description opens hosts of this rank and below: basic 10, ultra 20, elite 30, epic 40 */
            readonly rank: bigint;
            /** @description calls that may come at once after a pause */
            readonly requestsBurst: bigint;
            /**
             * Format: double
             * @description calls per second; empty means no limit
             */
            readonly requestsPerSecond: number | null;
            /** @description batch simulation jobs of one key that may be open at once; 0 is none */
            readonly simulationJobs: bigint;
            /** @description simulations that one batch job may ask for */
            readonly simulationsPerJob: bigint;
            /** @description bytes of notifications to one key in a calendar month (UTC); empty means no limit */
            readonly streamBytesPerMonth: bigint | null;
            /** @description WebSockets that one key (or address without a key) may have open; 0 is none */
            readonly streamConnections: bigint;
            /** @description notifications per second to one key, over ten seconds; empty means no limit */
            readonly streamNotificationsPerSecond: bigint | null;
            /** @description subscriptions of one WebSocket */
            readonly streamSubscriptions: bigint;
            /** @description tip-address fetches that may come at once after a pause */
            readonly tipFetchesBurst: bigint;
            /** @description tip-address fetches a UTC day; empty means no limit */
            readonly tipFetchesDailyCap: bigint | null;
            /**
             * Format: double
             * @description tip-address fetches per second; empty means no limit
             */
            readonly tipFetchesPerSecond: number | null;
        };
        /** @description A tier to add, or what to change of one. */
        ManagedTierBody: {
            /** @description bundles that may come at once after a pause */
            bundlesBurst?: bigint | number;
            /**
             * Format: double
             * @description bundles per second; empty means no limit
             */
            bundlesPerSecond?: number | null;
            /**
             * Format: int64
             * @description calls that one key may make in a calendar month (UTC); empty means no limit
             */
            callsPerMonth?: bigint | number | null;
            /** @description share of the landers' work while submissions wait: with 4, four of this tier are sent for one of a tier with 1 */
            landingWeight?: bigint | number;
            name: string;
            /** @description opens hosts of this rank and below: basic 10, ultra 20, elite 30, epic 40 */
            rank: bigint | number;
            /** @description calls that may come at once after a pause */
            requestsBurst?: bigint | number;
            /**
             * Format: double
             * @description calls per second; empty means no limit
             */
            requestsPerSecond?: number | null;
            /** @description batch simulation jobs of one key that may be open at once; 0 is none */
            simulationJobs?: bigint | number;
            /** @description simulations that one batch job may ask for */
            simulationsPerJob?: bigint | number;
            /**
             * Format: int64
             * @description bytes of notifications to one key in a calendar month (UTC); empty means no limit
             */
            streamBytesPerMonth?: bigint | number | null;
            /** @description WebSockets that one key (or address without a key) may have open; 0 is none */
            streamConnections?: bigint | number;
            /** @description notifications per second to one key, over ten seconds; empty means no limit */
            streamNotificationsPerSecond?: bigint | number | null;
            /** @description subscriptions of one WebSocket */
            streamSubscriptions?: bigint | number;
            /** @description tip-address fetches that may come at once after a pause */
            tipFetchesBurst?: bigint | number;
            /** @description tip-address fetches a UTC day; empty means no limit */
            tipFetchesDailyCap?: bigint | number | null;
            /**
             * Format: double
             * @description tip-address fetches per second; empty means no limit
             */
            tipFetchesPerSecond?: number | null;
        };
        /** @description By how much one finalized transaction changed the balance of one of our addresses. */
        ManagedTip: {
            address: string;
            readonly id: bigint;
            readonly isStatic: boolean;
            readonly key: bigint | null;
            /**
             * @description * `tip` - Tip
             *     * `sweep` - Sweep
             *     * `other` - Other
             * @enum {string}
             */
            readonly kind: "tip" | "sweep" | "other";
            /** @description negative where the address paid */
            readonly lamports: bigint;
            /** Format: date-time */
            readonly recordedAt: string;
            signature: string;
            readonly slot: bigint;
        };
        /** @description Tip addresses of one TTL class that are issued in one window and expire together. */
        ManagedTipBatch: {
            /** Format: date-time */
            readonly balancesReadAt: string | null;
            /** Format: date-time */
            readonly closedAt: string | null;
            /** Format: date-time */
            readonly expiresAt: string | null;
            readonly id: bigint;
            readonly number: bigint;
            /** Format: date-time */
            readonly openedAt: string | null;
            /** Format: date-time */
            readonly preparedAt: string;
            readonly size: bigint;
            /**
             * @description * `prepared` - Prepared
             *     * `open` - Open
             *     * `closed` - Closed
             * @default prepared
             * @enum {string}
             */
            readonly state: "prepared" | "open" | "closed";
            readonly sweepNote: string;
            /** Format: date-time */
            readonly sweptAt: string | null;
            readonly ttlClass: bigint;
            /** TTL seconds */
            readonly ttlSeconds: bigint;
            /** Format: date-time */
            readonly windowEndsAt: string | null;
        };
        /** @description One transaction that moves the balances of tip addresses to the treasury. */
        ManagedTipSweep: {
            addresses: components["schemas"]["ManagedSweptAddress"][];
            /** @description lamports of it that the network takes */
            readonly fee: bigint;
            readonly id: bigint;
            /** @description what the addresses held */
            readonly lamports: bigint;
            /** Format: date-time */
            readonly plannedAt: string;
            readonly reason: string;
            /** Format: date-time */
            readonly settledAt: string | null;
            signature: string;
            readonly slot: bigint | null;
            /**
             * @description * `planned` - Planned
             *     * `landed` - Landed
             *     * `failed` - Failed
             *     * `expired` - Expired
             * @enum {string}
             */
            readonly state: "planned" | "landed" | "failed" | "expired";
            treasury: string;
        };
        /** @description How long tip addresses live, and how many are prepared. */
        ManagedTtlClass: {
            /** @description addresses per batch; a batch with none left before its window ends is closed */
            readonly batchSize: bigint;
            readonly id: bigint;
            /** @description the class of a fetch without a TTL; exactly one class */
            readonly isDefault: boolean;
            /**
             * TTL seconds
             * @description how long an address lives; a fetch takes the smallest class that is long enough
             */
            readonly ttlSeconds: bigint;
            /** @description how long addresses of one batch are issued before the next batch opens */
            readonly windowSeconds: bigint;
        };
        /** @description A TTL class to add, or what to change of one. A new default replaces the old one. */
        ManagedTtlClassBody: {
            /** @description addresses per batch; a batch with none left before its window ends is closed */
            batchSize?: bigint | number;
            isDefault?: boolean;
            /**
             * TTL seconds
             * @description how long an address lives; a fetch takes the smallest class that is long enough
             */
            ttlSeconds: bigint | number;
            /** @description how long addresses of one batch are issued before the next batch opens */
            windowSeconds: bigint | number;
        };
        /** @description A service that sends to the leaders; only its host is shown, its URL may hold a key. */
        ManagedUpstream: {
            readonly brokenReason: string;
            /** Format: date-time */
            readonly brokenUntil: string | null;
            /** Format: date-time */
            readonly drainingSince: string | null;
            /** @description null: those of the followed chain */
            readonly host: string | null;
            readonly id: bigint;
            readonly isEnabled: boolean;
            /**
             * @description * `leaders` - leaders, by TPU QUIC
             *     * `node` - node, by JSON-RPC
             *     * `block_engine` - block engine, for bundles
             * @enum {string}
             */
            readonly kind: "leaders" | "node" | "block_engine";
            /** @description callers choose by it; `bundle` is reserved */
            readonly name: string;
            /** @description block engines: what we tip the engine ourselves, by a transaction of our own behind the bundle's; 0 leaves it to the bundle */
            readonly ownTipLamports: bigint;
            readonly tiers: string[];
            /** Timeout (ms) */
            readonly timeoutMs: bigint;
            /** @description of a hundred submissions that choose no upstream, so many go this way too */
            readonly weight: bigint;
        };
        /** @description An upstream to add, or what to change of one. Without tiers it serves all of them. */
        ManagedUpstreamBody: {
            isEnabled?: boolean;
            /**
             * @description * `leaders` - leaders, by TPU QUIC
             *     * `node` - node, by JSON-RPC
             *     * `block_engine` - block engine, for bundles
             * @enum {string}
             */
            kind: "leaders" | "node" | "block_engine";
            /** @description callers choose by it; `bundle` is reserved */
            name: string;
            /**
             * Format: int64
             * @description block engines: what we tip the engine ourselves, by a transaction of our own behind the bundle's; 0 leaves it to the bundle
             */
            ownTipLamports?: bigint | number;
            tiers?: string[];
            /** Timeout (ms) */
            timeoutMs?: bigint | number;
            /** @description of the node that reports the leaders, of the node, or of the block engine; empty: those of the followed chain (the block engine: localnet's) */
            url?: string;
            /** @description of a hundred submissions that choose no upstream, so many go this way too */
            weight?: bigint | number;
        };
        /** @description Calls in a span of time. */
        ManagedUsage: {
            byKey: components["schemas"]["ManagedKeyCalls"][];
            counts: components["schemas"]["ManagedCounts"];
            /** Format: date-time */
            end: string;
            methods: components["schemas"]["ManagedMethod"][];
            /** Format: date-time */
            start: string;
            stepSeconds: bigint;
            steps: components["schemas"]["ManagedStep"][];
            /** @description whether `byKey` has only the 1,000 busiest keys: a CSV has all */
            truncated: boolean;
        };
        /** @description An address that events are posted to; only its host is shown, its path may be a secret. */
        ManagedWebhook: {
            /** Format: date-time */
            readonly createdAt: string;
            readonly customer: bigint | null;
            /**
             * Format: date-time
             * @description last success
             */
            readonly deliveredAt: string | null;
            readonly disabledReason: string;
            /** Format: date-time */
            readonly failingSince: string | null;
            readonly host: string;
            readonly id: bigint;
            readonly isEnabled: boolean;
            kinds: string[];
            /** @description of the last attempt; empty: it succeeded */
            readonly lastProblem: string;
            readonly name: string;
            /**
             * Format: date-time
             * @description requests are signed with the previous secret too until then
             */
            readonly previousUntil: string | null;
        };
        /** @description A webhook with the secret (`whsec_…`) that verifies its requests. */
        ManagedWebhookWithSecret: {
            /** Format: date-time */
            readonly createdAt: string;
            readonly customer: bigint | null;
            /**
             * Format: date-time
             * @description last success
             */
            readonly deliveredAt: string | null;
            readonly disabledReason: string;
            /** Format: date-time */
            readonly failingSince: string | null;
            readonly host: string;
            readonly id: bigint;
            readonly isEnabled: boolean;
            kinds: string[];
            /** @description of the last attempt; empty: it succeeded */
            readonly lastProblem: string;
            readonly name: string;
            /**
             * Format: date-time
             * @description requests are signed with the previous secret too until then
             */
            readonly previousUntil: string | null;
            secret: string;
        };
        /**
         * NotValid
         * @description An address that was never issued, or has expired.
         */
        NotValid: {
            /**
             * Pubkey
             * @description the requested address
             */
            address: string;
            /** @description always false */
            valid: boolean;
        };
        /**
         * OneAddress
         * @description The response to a fetch without parameters, for old clients.
         */
        OneAddress: {
            /**
             * Pubkey
             * @description an address that is issued to you only
             */
            address: string;
            /** @description when it expires, in Unix seconds */
            expires_at: bigint;
            /** @description its class */
            validity_duration_seconds: bigint;
        };
        PaginatedManagedAlarmList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedAlarm"][];
        };
        PaginatedManagedArchiveGapList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedArchiveGap"][];
        };
        PaginatedManagedAuditEntryList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedAuditEntry"][];
        };
        PaginatedManagedCustomerList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedCustomer"][];
        };
        PaginatedManagedDeliveryList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedDelivery"][];
        };
        PaginatedManagedKeyList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedKey"][];
        };
        PaginatedManagedLedgerGapList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedLedgerGap"][];
        };
        PaginatedManagedMemberList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedMember"][];
        };
        PaginatedManagedRuleList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedRule"][];
        };
        PaginatedManagedSubmissionList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedSubmission"][];
        };
        PaginatedManagedTierList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedTier"][];
        };
        PaginatedManagedTipBatchList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedTipBatch"][];
        };
        PaginatedManagedTipList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedTip"][];
        };
        PaginatedManagedTipSweepList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedTipSweep"][];
        };
        PaginatedManagedTtlClassList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedTtlClass"][];
        };
        PaginatedManagedUpstreamList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedUpstream"][];
        };
        PaginatedManagedWebhookList: {
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cD00ODY%3D"
             */
            next?: string | null;
            /**
             * Format: uri
             * @example http://api.example.org/accounts/?cursor=cj0xJnA9NDg3
             */
            previous?: string | null;
            results: components["schemas"]["ManagedWebhook"][];
        };
        /** @description A customer to add, or what to change of one. */
        PatchedManagedCustomerBody: {
            /**
             * Mail alerts
             * @description mail to the address above what concerns the keys: expiry, quota, suspension
             */
            alertMails?: boolean;
            /** @description gets the mails about this customer's keys */
            email?: string;
            name?: string;
            notes?: string;
        };
        /** @description What may be changed of a key. Tokens of customers stay within the rights that staff gave. */
        PatchedManagedKeyChanges: {
            /**
             * Format: int64
             * @description null applies its tier's limit
             */
            callsPerMonth?: bigint | number | null;
            environment?: string;
            /** Format: date-time */
            expiresAt?: string | null;
            /** @description methods that the key may call; empty allows all methods of its scopes */
            methods?: string[];
            /** @description what the key is for */
            name?: string;
            /** @description CIDR list: addresses that may use the key; empty allows any address */
            networks?: string[];
            notes?: string;
            /** @description only pages of these web origins may use the key; empty allows any page and program */
            origins?: string[];
            /**
             * Format: double
             * @description calls per second; null applies its tier's limit, which is the maximum
             */
            requestsPerSecond?: number | null;
            scopes?: ("priority" | "bundle" | "rewind" | "historical" | "simulate" | "proxy")[];
            tier?: string;
        };
        /** @description What may be changed of a member. */
        PatchedManagedMemberChanges: {
            /**
             * @description * `owner` - Owner
             *     * `developer` - Developer
             *     * `reader` - Reader
             * @enum {string}
             */
            role?: "owner" | "developer" | "reader";
        };
        /** @description What may be changed of a rule; a `condition` replaces the whole one. */
        PatchedManagedRuleChanges: {
            condition?: components["schemas"]["ManagedRuleCondition"];
            /** @description whether the events are mailed to the customer */
            mails?: boolean;
            name?: string;
            /**
             * Format: int64
             * @description the customer's webhook that gets the events, whatever types it has chosen
             */
            webhook?: bigint | number | null;
        };
        /** @description A tier to add, or what to change of one. */
        PatchedManagedTierBody: {
            /** @description bundles that may come at once after a pause */
            bundlesBurst?: bigint | number;
            /**
             * Format: double
             * @description bundles per second; empty means no limit
             */
            bundlesPerSecond?: number | null;
            /**
             * Format: int64
             * @description calls that one key may make in a calendar month (UTC); empty means no limit
             */
            callsPerMonth?: bigint | number | null;
            /** @description share of the landers' work while submissions wait: with 4, four of this tier are sent for one of a tier with 1 */
            landingWeight?: bigint | number;
            name?: string;
            /** @description opens hosts of this rank and below: basic 10, ultra 20, elite 30, epic 40 */
            rank?: bigint | number;
            /** @description calls that may come at once after a pause */
            requestsBurst?: bigint | number;
            /**
             * Format: double
             * @description calls per second; empty means no limit
             */
            requestsPerSecond?: number | null;
            /** @description batch simulation jobs of one key that may be open at once; 0 is none */
            simulationJobs?: bigint | number;
            /** @description simulations that one batch job may ask for */
            simulationsPerJob?: bigint | number;
            /**
             * Format: int64
             * @description bytes of notifications to one key in a calendar month (UTC); empty means no limit
             */
            streamBytesPerMonth?: bigint | number | null;
            /** @description WebSockets that one key (or address without a key) may have open; 0 is none */
            streamConnections?: bigint | number;
            /** @description notifications per second to one key, over ten seconds; empty means no limit */
            streamNotificationsPerSecond?: bigint | number | null;
            /** @description subscriptions of one WebSocket */
            streamSubscriptions?: bigint | number;
            /** @description tip-address fetches that may come at once after a pause */
            tipFetchesBurst?: bigint | number;
            /** @description tip-address fetches a UTC day; empty means no limit */
            tipFetchesDailyCap?: bigint | number | null;
            /**
             * Format: double
             * @description tip-address fetches per second; empty means no limit
             */
            tipFetchesPerSecond?: number | null;
        };
        /** @description A TTL class to add, or what to change of one. A new default replaces the old one. */
        PatchedManagedTtlClassBody: {
            /** @description addresses per batch; a batch with none left before its window ends is closed */
            batchSize?: bigint | number;
            isDefault?: boolean;
            /**
             * TTL seconds
             * @description how long an address lives; a fetch takes the smallest class that is long enough
             */
            ttlSeconds?: bigint | number;
            /** @description how long addresses of one batch are issued before the next batch opens */
            windowSeconds?: bigint | number;
        };
        /** @description An upstream to add, or what to change of one. Without tiers it serves all of them. */
        PatchedManagedUpstreamBody: {
            isEnabled?: boolean;
            /**
             * @description * `leaders` - leaders, by TPU QUIC
             *     * `node` - node, by JSON-RPC
             *     * `block_engine` - block engine, for bundles
             * @enum {string}
             */
            kind?: "leaders" | "node" | "block_engine";
            /** @description callers choose by it; `bundle` is reserved */
            name?: string;
            /**
             * Format: int64
             * @description block engines: what we tip the engine ourselves, by a transaction of our own behind the bundle's; 0 leaves it to the bundle
             */
            ownTipLamports?: bigint | number;
            tiers?: string[];
            /** Timeout (ms) */
            timeoutMs?: bigint | number;
            /** @description of the node that reports the leaders, of the node, or of the block engine; empty: those of the followed chain (the block engine: localnet's) */
            url?: string;
            /** @description of a hundred submissions that choose no upstream, so many go this way too */
            weight?: bigint | number;
        };
        /** @description What may be changed of a webhook. */
        PatchedManagedWebhookChanges: {
            /** @description the events to deliver; empty means all */
            kinds?: string[];
            name?: string;
            url?: string;
        };
        /**
         * Pong
         * @description The response, always the same.
         */
        Pong: {
            /**
             * @description always `pong`
             * @enum {string}
             */
            result: "pong";
        };
        /**
         * Readiness
         * @description Whether the service can answer calls.
         *
         *     operator (both HTTP 200), else `unavailable` (HTTP 503)
         */
        Readiness: {
            /** @description the result of each check, by its name */
            checks: {
                [key: string]: components["schemas"]["CheckAnswer"];
            };
            /**
             * @description `ok` when every check passes, `degraded` when calls are answered and something needs an
             * @enum {string}
             */
            status: "ok" | "degraded" | "unavailable";
        };
        /**
         * TipFloor
         * @description Percentiles of the tips that landed, in SOL as clients of like services read them, and in lamports. Without a landed tip the former are 0 and the latter null.
         */
        TipFloor: {
            /** @description how many tips landed in them */
            count: bigint;
            /** @description the median, smoothed over time, in SOL */
            ema_landed_tips_50th_percentile: number;
            /** @description a quarter of them were at most this */
            lamports_25th_percentile: (bigint) | null;
            /** @description half of them were at most this */
            lamports_50th_percentile: (bigint) | null;
            /** @description three quarters of them were at most this */
            lamports_75th_percentile: (bigint) | null;
            /** @description 95 % of them were at most this */
            lamports_95th_percentile: (bigint) | null;
            /** @description 99 % of them were at most this */
            lamports_99th_percentile: (bigint) | null;
            /** @description the median, smoothed over time */
            lamports_ema_50th_percentile: (bigint) | null;
            /** @description a quarter of them were at most this, in SOL */
            landed_tips_25th_percentile: number;
            /** @description half of them were at most this, in SOL */
            landed_tips_50th_percentile: number;
            /** @description three quarters of them were at most this, in SOL */
            landed_tips_75th_percentile: number;
            /** @description 95 % of them were at most this, in SOL */
            landed_tips_95th_percentile: number;
            /** @description 99 % of them were at most this, in SOL */
            landed_tips_99th_percentile: number;
            /** @description when this was computed, in UTC */
            time: string;
            /** @description over how many seconds */
            window_seconds: bigint;
        };
        /**
         * TipInfo
         * @description The classes of tip addresses that can be fetched here, and the limits.
         */
        TipInfo: {
            /** @description the class of a fetch without `ttl` */
            default_ttl_seconds: bigint;
            /** @description the maximum of `count` */
            max_count: bigint;
            /** @description the maximum of `ttl` */
            max_ttl_seconds: bigint;
            /** @description the smallest tip to an address; the chain refuses smaller transfers */
            min_lamports: bigint;
            /** @description your limits */
            quota: components["schemas"]["FetchQuota"];
            /** @description the name of this edge */
            served_by: string;
            /** @description the classes, the shortest first */
            ttl_classes: components["schemas"]["TtlClass"][];
        };
        /**
         * TtlClass
         * @description A class of tip addresses: how long they live.
         */
        TtlClass: {
            /** @description whether a fetch of it would succeed now */
            available: boolean;
            /** @description when an address fetched now would expire, in Unix seconds; null if the class is not available */
            expires_at_if_fetched_now: (bigint) | null;
            /** @description the least time that an address of it is valid */
            ttl_seconds: bigint;
        };
        /**
         * Valid
         * @description An address that may be tipped.
         */
        Valid: {
            /**
             * Pubkey
             * @description the requested address
             */
            address: string;
            /** @description when it expires, in Unix seconds; null for a static one */
            expires_at: (bigint) | null;
            /** @description whether it never expires */
            is_static: boolean;
            /** @description always true */
            valid: boolean;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type AccountAfter = components['schemas']['AccountAfter'];
export type AccountChange = components['schemas']['AccountChange'];
export type AccountChanges = components['schemas']['AccountChanges'];
export type AccountConfig = components['schemas']['AccountConfig'];
export type AccountContext = components['schemas']['AccountContext'];
export type AccountDiff = components['schemas']['AccountDiff'];
export type AccountInfo = components['schemas']['AccountInfo'];
export type AccountPair = components['schemas']['AccountPair'];
export type AccountSnapshot = components['schemas']['AccountSnapshot'];
export type AccountsConfig = components['schemas']['AccountsConfig'];
export type AddressConfig = components['schemas']['AddressConfig'];
export type AddressSignature = components['schemas']['AddressSignature'];
export type AddressTableLookup = components['schemas']['AddressTableLookup'];
export type AddressTransactions = components['schemas']['AddressTransactions'];
export type AddressTransactionsConfig = components['schemas']['AddressTransactionsConfig'];
export type Anchor = components['schemas']['Anchor'];
export type BalanceChange = components['schemas']['BalanceChange'];
export type Bank = components['schemas']['Bank'];
export type BaselineEntry = components['schemas']['BaselineEntry'];
export type Block = components['schemas']['Block'];
export type BlockConfig = components['schemas']['BlockConfig'];
export type BlockTransaction = components['schemas']['BlockTransaction'];
export type Bucket = components['schemas']['Bucket'];
export type BundleConfig = components['schemas']['BundleConfig'];
export type BundleContext = components['schemas']['BundleContext'];
export type BundleFailure = components['schemas']['BundleFailure'];
export type BundleFate = components['schemas']['BundleFate'];
export type BundleTransaction = components['schemas']['BundleTransaction'];
export type BundleValue = components['schemas']['BundleValue'];
export type ChangesConfig = components['schemas']['ChangesConfig'];
export type ChangesPage = components['schemas']['ChangesPage'];
export type CompiledInstruction = components['schemas']['CompiledInstruction'];
export type Completeness = components['schemas']['Completeness'];
export type CompletenessCause = components['schemas']['CompletenessCause'];
export type ComputeUse = components['schemas']['ComputeUse'];
export type Context = components['schemas']['Context'];
export type ContextConfig = components['schemas']['ContextConfig'];
export type Costs = components['schemas']['Costs'];
export type Coverage = components['schemas']['Coverage'];
export type CoverageConfig = components['schemas']['CoverageConfig'];
export type DataSlice = components['schemas']['DataSlice'];
export type Diff = components['schemas']['Diff'];
export type DiffConfig = components['schemas']['DiffConfig'];
export type DiffContext = components['schemas']['DiffContext'];
export type DiffGap = components['schemas']['DiffGap'];
export type DiffProof = components['schemas']['DiffProof'];
export type DiffReason = components['schemas']['DiffReason'];
export type EncodingConfig = components['schemas']['EncodingConfig'];
export type ErrorName = components['schemas']['ErrorName'];
export type ExplainedAccount = components['schemas']['ExplainedAccount'];
export type ExplainedFees = components['schemas']['ExplainedFees'];
export type ExplainedInstruction = components['schemas']['ExplainedInstruction'];
export type ExplainedTip = components['schemas']['ExplainedTip'];
export type ExplainedTransaction = components['schemas']['ExplainedTransaction'];
export type ExplainedTransfer = components['schemas']['ExplainedTransfer'];
export type FailedBundle = components['schemas']['FailedBundle'];
export type Failure = components['schemas']['Failure'];
export type Fate = components['schemas']['Fate'];
export type FateAttempt = components['schemas']['FateAttempt'];
export type Filters = components['schemas']['Filters'];
export type FlatAccount = components['schemas']['FlatAccount'];
export type FlatBundle = components['schemas']['FlatBundle'];
export type FlatReturnData = components['schemas']['FlatReturnData'];
export type GapEntry = components['schemas']['GapEntry'];
export type IdlData = components['schemas']['IdlData'];
export type InCommitment = components['schemas']['InCommitment'];
export type InflightBundle = components['schemas']['InflightBundle'];
export type InflightBundles = components['schemas']['InflightBundles'];
export type InnerInstructions = components['schemas']['InnerInstructions'];
export type InstructionAccount = components['schemas']['InstructionAccount'];
export type Job = components['schemas']['Job'];
export type JobError = components['schemas']['JobError'];
export type JobPosition = components['schemas']['JobPosition'];
export type JobResult = components['schemas']['JobResult'];
export type JobSpec = components['schemas']['JobSpec'];
export type KeyShown = components['schemas']['KeyShown'];
export type LandedBundle = components['schemas']['LandedBundle'];
export type LandedBundles = components['schemas']['LandedBundles'];
export type LedgerCoverage = components['schemas']['LedgerCoverage'];
export type Limits = components['schemas']['Limits'];
export type ListConfig = components['schemas']['ListConfig'];
export type LoadedAddresses = components['schemas']['LoadedAddresses'];
export type Message = components['schemas']['Message'];
export type MessageAccount = components['schemas']['MessageAccount'];
export type MessageHeader = components['schemas']['MessageHeader'];
export type MissingRuleEntry = components['schemas']['MissingRuleEntry'];
export type MonthOfCalls = components['schemas']['MonthOfCalls'];
export type Monthly = components['schemas']['Monthly'];
export type MultipleAccounts = components['schemas']['MultipleAccounts'];
export type OverrideConfig = components['schemas']['OverrideConfig'];
export type OwnPlace = components['schemas']['OwnPlace'];
export type PaidTip = components['schemas']['PaidTip'];
export type ParsedData = components['schemas']['ParsedData'];
export type ParsedInstruction = components['schemas']['ParsedInstruction'];
export type Place = components['schemas']['Place'];
export type ProofRange = components['schemas']['ProofRange'];
export type ProofVote = components['schemas']['ProofVote'];
export type ProvenSlot = components['schemas']['ProvenSlot'];
export type RemoteHistory = components['schemas']['RemoteHistory'];
export type ReplacementBlockhash = components['schemas']['ReplacementBlockhash'];
export type ResultPage = components['schemas']['ResultPage'];
export type ResultsConfig = components['schemas']['ResultsConfig'];
export type ReturnData = components['schemas']['ReturnData'];
export type Reward = components['schemas']['Reward'];
export type RewindContext = components['schemas']['RewindContext'];
export type RewindCoverage = components['schemas']['RewindCoverage'];
export type RewindStorageBand = components['schemas']['RewindStorageBand'];
export type SendConfig = components['schemas']['SendConfig'];
export type SeveralContext = components['schemas']['SeveralContext'];
export type ShownAccount = components['schemas']['ShownAccount'];
export type SignatureFilter = components['schemas']['SignatureFilter'];
export type SignatureStatus = components['schemas']['SignatureStatus'];
export type SignatureStatuses = components['schemas']['SignatureStatuses'];
export type SimulatedBundle = components['schemas']['SimulatedBundle'];
export type SimulatedTransaction = components['schemas']['SimulatedTransaction'];
export type SimulatedTransactions = components['schemas']['SimulatedTransactions'];
export type Simulation = components['schemas']['Simulation'];
export type SimulationConfig = components['schemas']['SimulationConfig'];
export type SimulationContext = components['schemas']['SimulationContext'];
export type SimulationJobs = components['schemas']['SimulationJobs'];
export type SlotContext = components['schemas']['SlotContext'];
export type SlotFilter = components['schemas']['SlotFilter'];
export type SlotProofConfig = components['schemas']['SlotProofConfig'];
export type SlotRange = components['schemas']['SlotRange'];
export type Snapshots = components['schemas']['Snapshots'];
export type Standing = components['schemas']['Standing'];
export type StatusesConfig = components['schemas']['StatusesConfig'];
export type StorageBand = components['schemas']['StorageBand'];
export type Submitted = components['schemas']['Submitted'];
export type TimeFilter = components['schemas']['TimeFilter'];
export type TipFetches = components['schemas']['TipFetches'];
export type TokenAmount = components['schemas']['TokenAmount'];
export type TokenBalance = components['schemas']['TokenBalance'];
export type TokenBalanceChange = components['schemas']['TokenBalanceChange'];
export type TransactionAccounts = components['schemas']['TransactionAccounts'];
export type TransactionConfig = components['schemas']['TransactionConfig'];
export type TransactionEntry = components['schemas']['TransactionEntry'];
export type TransactionJson = components['schemas']['TransactionJson'];
export type TransactionMeta = components['schemas']['TransactionMeta'];
export type UnparsedInstruction = components['schemas']['UnparsedInstruction'];
export type UsedIdl = components['schemas']['UsedIdl'];
export type WhoAmI = components['schemas']['WhoAmI'];
export type Addresses = components['schemas']['Addresses'];
export type Alive = components['schemas']['Alive'];
export type CheckAnswer = components['schemas']['CheckAnswer'];
export type Error = components['schemas']['Error'];
export type FateEvent = components['schemas']['FateEvent'];
export type FetchQuota = components['schemas']['FetchQuota'];
export type ManagedAlarm = components['schemas']['ManagedAlarm'];
export type ManagedArchiveGap = components['schemas']['ManagedArchiveGap'];
export type ManagedAttempt = components['schemas']['ManagedAttempt'];
export type ManagedAuditEntry = components['schemas']['ManagedAuditEntry'];
export type ManagedCounts = components['schemas']['ManagedCounts'];
export type ManagedCoverage = components['schemas']['ManagedCoverage'];
export type ManagedCustomer = components['schemas']['ManagedCustomer'];
export type ManagedCustomerBody = components['schemas']['ManagedCustomerBody'];
export type ManagedDelivery = components['schemas']['ManagedDelivery'];
export type ManagedIssuedKey = components['schemas']['ManagedIssuedKey'];
export type ManagedKey = components['schemas']['ManagedKey'];
export type ManagedKeyCalls = components['schemas']['ManagedKeyCalls'];
export type ManagedLedgerGap = components['schemas']['ManagedLedgerGap'];
export type ManagedLongerOverlap = components['schemas']['ManagedLongerOverlap'];
export type ManagedMember = components['schemas']['ManagedMember'];
export type ManagedMemberWithLink = components['schemas']['ManagedMemberWithLink'];
export type ManagedMethod = components['schemas']['ManagedMethod'];
export type ManagedNewKey = components['schemas']['ManagedNewKey'];
export type ManagedNewMember = components['schemas']['ManagedNewMember'];
export type ManagedNewRule = components['schemas']['ManagedNewRule'];
export type ManagedNewWebhook = components['schemas']['ManagedNewWebhook'];
export type ManagedOverlap = components['schemas']['ManagedOverlap'];
export type ManagedReplay = components['schemas']['ManagedReplay'];
export type ManagedReplayed = components['schemas']['ManagedReplayed'];
export type ManagedRule = components['schemas']['ManagedRule'];
export type ManagedRuleCondition = components['schemas']['ManagedRuleCondition'];
export type ManagedStep = components['schemas']['ManagedStep'];
export type ManagedSubmission = components['schemas']['ManagedSubmission'];
export type ManagedSweptAddress = components['schemas']['ManagedSweptAddress'];
export type ManagedTier = components['schemas']['ManagedTier'];
export type ManagedTierBody = components['schemas']['ManagedTierBody'];
export type ManagedTip = components['schemas']['ManagedTip'];
export type ManagedTipBatch = components['schemas']['ManagedTipBatch'];
export type ManagedTipSweep = components['schemas']['ManagedTipSweep'];
export type ManagedTtlClass = components['schemas']['ManagedTtlClass'];
export type ManagedTtlClassBody = components['schemas']['ManagedTtlClassBody'];
export type ManagedUpstream = components['schemas']['ManagedUpstream'];
export type ManagedUpstreamBody = components['schemas']['ManagedUpstreamBody'];
export type ManagedUsage = components['schemas']['ManagedUsage'];
export type ManagedWebhook = components['schemas']['ManagedWebhook'];
export type ManagedWebhookWithSecret = components['schemas']['ManagedWebhookWithSecret'];
export type NotValid = components['schemas']['NotValid'];
export type OneAddress = components['schemas']['OneAddress'];
export type PaginatedManagedAlarmList = components['schemas']['PaginatedManagedAlarmList'];
export type PaginatedManagedArchiveGapList = components['schemas']['PaginatedManagedArchiveGapList'];
export type PaginatedManagedAuditEntryList = components['schemas']['PaginatedManagedAuditEntryList'];
export type PaginatedManagedCustomerList = components['schemas']['PaginatedManagedCustomerList'];
export type PaginatedManagedDeliveryList = components['schemas']['PaginatedManagedDeliveryList'];
export type PaginatedManagedKeyList = components['schemas']['PaginatedManagedKeyList'];
export type PaginatedManagedLedgerGapList = components['schemas']['PaginatedManagedLedgerGapList'];
export type PaginatedManagedMemberList = components['schemas']['PaginatedManagedMemberList'];
export type PaginatedManagedRuleList = components['schemas']['PaginatedManagedRuleList'];
export type PaginatedManagedSubmissionList = components['schemas']['PaginatedManagedSubmissionList'];
export type PaginatedManagedTierList = components['schemas']['PaginatedManagedTierList'];
export type PaginatedManagedTipBatchList = components['schemas']['PaginatedManagedTipBatchList'];
export type PaginatedManagedTipList = components['schemas']['PaginatedManagedTipList'];
export type PaginatedManagedTipSweepList = components['schemas']['PaginatedManagedTipSweepList'];
export type PaginatedManagedTtlClassList = components['schemas']['PaginatedManagedTtlClassList'];
export type PaginatedManagedUpstreamList = components['schemas']['PaginatedManagedUpstreamList'];
export type PaginatedManagedWebhookList = components['schemas']['PaginatedManagedWebhookList'];
export type PatchedManagedCustomerBody = components['schemas']['PatchedManagedCustomerBody'];
export type PatchedManagedKeyChanges = components['schemas']['PatchedManagedKeyChanges'];
export type PatchedManagedMemberChanges = components['schemas']['PatchedManagedMemberChanges'];
export type PatchedManagedRuleChanges = components['schemas']['PatchedManagedRuleChanges'];
export type PatchedManagedTierBody = components['schemas']['PatchedManagedTierBody'];
export type PatchedManagedTtlClassBody = components['schemas']['PatchedManagedTtlClassBody'];
export type PatchedManagedUpstreamBody = components['schemas']['PatchedManagedUpstreamBody'];
export type PatchedManagedWebhookChanges = components['schemas']['PatchedManagedWebhookChanges'];
export type Pong = components['schemas']['Pong'];
export type Readiness = components['schemas']['Readiness'];
export type TipFloor = components['schemas']['TipFloor'];
export type TipInfo = components['schemas']['TipInfo'];
export type TtlClass = components['schemas']['TtlClass'];
export type Valid = components['schemas']['Valid'];
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
