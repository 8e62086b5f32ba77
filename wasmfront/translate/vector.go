package translate

import (
	"encoding/binary"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/wasmfront"
)

// vectorHandlers translates the operators with the prefix 0xFD, by the number after it.
var vectorHandlers = [256]handler{
	wasmfront.OpV128Load & 0xff:                  {run: (*Translator).load, typ: clif.V128, cond: uint8(clif.Full)},
	wasmfront.OpV128Load8x8S & 0xff:              {run: (*Translator).loadExtend, code: clif.OpVextendLowS, typ: clif.I16x8},
	wasmfront.OpV128Load8x8U & 0xff:              {run: (*Translator).loadExtend, code: clif.OpVextendLowU, typ: clif.I16x8},
	wasmfront.OpV128Load16x4S & 0xff:             {run: (*Translator).loadExtend, code: clif.OpVextendLowS, typ: clif.I32x4},
	wasmfront.OpV128Load16x4U & 0xff:             {run: (*Translator).loadExtend, code: clif.OpVextendLowU, typ: clif.I32x4},
	wasmfront.OpV128Load32x2S & 0xff:             {run: (*Translator).loadExtend, code: clif.OpVextendLowS, typ: clif.I64x2},
	wasmfront.OpV128Load32x2U & 0xff:             {run: (*Translator).loadExtend, code: clif.OpVextendLowU, typ: clif.I64x2},
	wasmfront.OpV128Load8Splat & 0xff:            {run: (*Translator).loadSplat, typ: clif.I8x16, cond: uint8(clif.U8)},
	wasmfront.OpV128Load16Splat & 0xff:           {run: (*Translator).loadSplat, typ: clif.I16x8, cond: uint8(clif.U16)},
	wasmfront.OpV128Load32Splat & 0xff:           {run: (*Translator).loadSplat, typ: clif.F32x4, cond: uint8(clif.Full)},
	wasmfront.OpV128Load64Splat & 0xff:           {run: (*Translator).loadSplat, typ: clif.F64x2, cond: uint8(clif.Full)},
	wasmfront.OpV128Store & 0xff:                 {run: (*Translator).store, typ: clif.V128, cond: uint8(clif.Full)},
	wasmfront.OpV128Const & 0xff:                 {run: (*Translator).vconst},
	wasmfront.OpI8x16Shuffle & 0xff:              {run: (*Translator).shuffle},
	wasmfront.OpI8x16Swizzle & 0xff:              {run: (*Translator).binary, code: clif.OpVswizzle, typ: clif.I8x16},
	wasmfront.OpI8x16Splat & 0xff:                {run: (*Translator).unary, code: clif.OpVsplat, typ: clif.I8x16},
	wasmfront.OpI16x8Splat & 0xff:                {run: (*Translator).unary, code: clif.OpVsplat, typ: clif.I16x8},
	wasmfront.OpI32x4Splat & 0xff:                {run: (*Translator).unary, code: clif.OpVsplat, typ: clif.I32x4},
	wasmfront.OpI64x2Splat & 0xff:                {run: (*Translator).unary, code: clif.OpVsplat, typ: clif.I64x2},
	wasmfront.OpF32x4Splat & 0xff:                {run: (*Translator).unary, code: clif.OpVsplat, typ: clif.F32x4},
	wasmfront.OpF64x2Splat & 0xff:                {run: (*Translator).unary, code: clif.OpVsplat, typ: clif.F64x2},
	wasmfront.OpI8x16ExtractLaneS & 0xff:         {run: (*Translator).extract, code: clif.OpVextractS, typ: clif.I8x16},
	wasmfront.OpI8x16ExtractLaneU & 0xff:         {run: (*Translator).extract, code: clif.OpVextract, typ: clif.I8x16},
	wasmfront.OpI8x16ReplaceLane & 0xff:          {run: (*Translator).insert, typ: clif.I8x16},
	wasmfront.OpI16x8ExtractLaneS & 0xff:         {run: (*Translator).extract, code: clif.OpVextractS, typ: clif.I16x8},
	wasmfront.OpI16x8ExtractLaneU & 0xff:         {run: (*Translator).extract, code: clif.OpVextract, typ: clif.I16x8},
	wasmfront.OpI16x8ReplaceLane & 0xff:          {run: (*Translator).insert, typ: clif.I16x8},
	wasmfront.OpI32x4ExtractLane & 0xff:          {run: (*Translator).extract, code: clif.OpVextract, typ: clif.I32x4},
	wasmfront.OpI32x4ReplaceLane & 0xff:          {run: (*Translator).insert, typ: clif.I32x4},
	wasmfront.OpI64x2ExtractLane & 0xff:          {run: (*Translator).extract, code: clif.OpVextract, typ: clif.I64x2},
	wasmfront.OpI64x2ReplaceLane & 0xff:          {run: (*Translator).insert, typ: clif.I64x2},
	wasmfront.OpF32x4ExtractLane & 0xff:          {run: (*Translator).extract, code: clif.OpVextract, typ: clif.F32x4},
	wasmfront.OpF32x4ReplaceLane & 0xff:          {run: (*Translator).insert, typ: clif.F32x4},
	wasmfront.OpF64x2ExtractLane & 0xff:          {run: (*Translator).extract, code: clif.OpVextract, typ: clif.F64x2},
	wasmfront.OpF64x2ReplaceLane & 0xff:          {run: (*Translator).insert, typ: clif.F64x2},
	wasmfront.OpI8x16Eq & 0xff:                   {run: (*Translator).vicmp, typ: clif.I8x16, cond: uint8(clif.Eq)},
	wasmfront.OpI8x16Ne & 0xff:                   {run: (*Translator).vicmp, typ: clif.I8x16, cond: uint8(clif.Ne)},
	wasmfront.OpI8x16LtS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I8x16, cond: uint8(clif.Slt)},
	wasmfront.OpI8x16LtU & 0xff:                  {run: (*Translator).vicmp, typ: clif.I8x16, cond: uint8(clif.Ult)},
	wasmfront.OpI8x16GtS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I8x16, cond: uint8(clif.Sgt)},
	wasmfront.OpI8x16GtU & 0xff:                  {run: (*Translator).vicmp, typ: clif.I8x16, cond: uint8(clif.Ugt)},
	wasmfront.OpI8x16LeS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I8x16, cond: uint8(clif.Sle)},
	wasmfront.OpI8x16LeU & 0xff:                  {run: (*Translator).vicmp, typ: clif.I8x16, cond: uint8(clif.Ule)},
	wasmfront.OpI8x16GeS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I8x16, cond: uint8(clif.Sge)},
	wasmfront.OpI8x16GeU & 0xff:                  {run: (*Translator).vicmp, typ: clif.I8x16, cond: uint8(clif.Uge)},
	wasmfront.OpI16x8Eq & 0xff:                   {run: (*Translator).vicmp, typ: clif.I16x8, cond: uint8(clif.Eq)},
	wasmfront.OpI16x8Ne & 0xff:                   {run: (*Translator).vicmp, typ: clif.I16x8, cond: uint8(clif.Ne)},
	wasmfront.OpI16x8LtS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I16x8, cond: uint8(clif.Slt)},
	wasmfront.OpI16x8LtU & 0xff:                  {run: (*Translator).vicmp, typ: clif.I16x8, cond: uint8(clif.Ult)},
	wasmfront.OpI16x8GtS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I16x8, cond: uint8(clif.Sgt)},
	wasmfront.OpI16x8GtU & 0xff:                  {run: (*Translator).vicmp, typ: clif.I16x8, cond: uint8(clif.Ugt)},
	wasmfront.OpI16x8LeS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I16x8, cond: uint8(clif.Sle)},
	wasmfront.OpI16x8LeU & 0xff:                  {run: (*Translator).vicmp, typ: clif.I16x8, cond: uint8(clif.Ule)},
	wasmfront.OpI16x8GeS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I16x8, cond: uint8(clif.Sge)},
	wasmfront.OpI16x8GeU & 0xff:                  {run: (*Translator).vicmp, typ: clif.I16x8, cond: uint8(clif.Uge)},
	wasmfront.OpI32x4Eq & 0xff:                   {run: (*Translator).vicmp, typ: clif.I32x4, cond: uint8(clif.Eq)},
	wasmfront.OpI32x4Ne & 0xff:                   {run: (*Translator).vicmp, typ: clif.I32x4, cond: uint8(clif.Ne)},
	wasmfront.OpI32x4LtS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I32x4, cond: uint8(clif.Slt)},
	wasmfront.OpI32x4LtU & 0xff:                  {run: (*Translator).vicmp, typ: clif.I32x4, cond: uint8(clif.Ult)},
	wasmfront.OpI32x4GtS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I32x4, cond: uint8(clif.Sgt)},
	wasmfront.OpI32x4GtU & 0xff:                  {run: (*Translator).vicmp, typ: clif.I32x4, cond: uint8(clif.Ugt)},
	wasmfront.OpI32x4LeS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I32x4, cond: uint8(clif.Sle)},
	wasmfront.OpI32x4LeU & 0xff:                  {run: (*Translator).vicmp, typ: clif.I32x4, cond: uint8(clif.Ule)},
	wasmfront.OpI32x4GeS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I32x4, cond: uint8(clif.Sge)},
	wasmfront.OpI32x4GeU & 0xff:                  {run: (*Translator).vicmp, typ: clif.I32x4, cond: uint8(clif.Uge)},
	wasmfront.OpF32x4Eq & 0xff:                   {run: (*Translator).vfcmp, typ: clif.F32x4, cond: uint8(clif.FEq)},
	wasmfront.OpF32x4Ne & 0xff:                   {run: (*Translator).vfcmp, typ: clif.F32x4, cond: uint8(clif.FNe)},
	wasmfront.OpF32x4Lt & 0xff:                   {run: (*Translator).vfcmp, typ: clif.F32x4, cond: uint8(clif.FLt)},
	wasmfront.OpF32x4Gt & 0xff:                   {run: (*Translator).vfcmp, typ: clif.F32x4, cond: uint8(clif.FGt)},
	wasmfront.OpF32x4Le & 0xff:                   {run: (*Translator).vfcmp, typ: clif.F32x4, cond: uint8(clif.FLe)},
	wasmfront.OpF32x4Ge & 0xff:                   {run: (*Translator).vfcmp, typ: clif.F32x4, cond: uint8(clif.FGe)},
	wasmfront.OpF64x2Eq & 0xff:                   {run: (*Translator).vfcmp, typ: clif.F64x2, cond: uint8(clif.FEq)},
	wasmfront.OpF64x2Ne & 0xff:                   {run: (*Translator).vfcmp, typ: clif.F64x2, cond: uint8(clif.FNe)},
	wasmfront.OpF64x2Lt & 0xff:                   {run: (*Translator).vfcmp, typ: clif.F64x2, cond: uint8(clif.FLt)},
	wasmfront.OpF64x2Gt & 0xff:                   {run: (*Translator).vfcmp, typ: clif.F64x2, cond: uint8(clif.FGt)},
	wasmfront.OpF64x2Le & 0xff:                   {run: (*Translator).vfcmp, typ: clif.F64x2, cond: uint8(clif.FLe)},
	wasmfront.OpF64x2Ge & 0xff:                   {run: (*Translator).vfcmp, typ: clif.F64x2, cond: uint8(clif.FGe)},
	wasmfront.OpV128Not & 0xff:                   {run: (*Translator).unary, code: clif.OpVnot, typ: clif.V128},
	wasmfront.OpV128And & 0xff:                   {run: (*Translator).binary, code: clif.OpVand, typ: clif.V128},
	wasmfront.OpV128Andnot & 0xff:                {run: (*Translator).binary, code: clif.OpVandnot, typ: clif.V128},
	wasmfront.OpV128Or & 0xff:                    {run: (*Translator).binary, code: clif.OpVor, typ: clif.V128},
	wasmfront.OpV128Xor & 0xff:                   {run: (*Translator).binary, code: clif.OpVxor, typ: clif.V128},
	wasmfront.OpV128Bitselect & 0xff:             {run: (*Translator).ternary, code: clif.OpVbitselect, typ: clif.V128},
	wasmfront.OpV128AnyTrue & 0xff:               {run: (*Translator).unary, code: clif.OpVanyTrue, typ: clif.V128},
	wasmfront.OpV128Load8Lane & 0xff:             {run: (*Translator).loadLane, typ: clif.I8x16, cond: uint8(clif.U8)},
	wasmfront.OpV128Load16Lane & 0xff:            {run: (*Translator).loadLane, typ: clif.I16x8, cond: uint8(clif.U16)},
	wasmfront.OpV128Load32Lane & 0xff:            {run: (*Translator).loadLane, typ: clif.I32x4, cond: uint8(clif.Full)},
	wasmfront.OpV128Load64Lane & 0xff:            {run: (*Translator).loadLane, typ: clif.I64x2, cond: uint8(clif.Full)},
	wasmfront.OpV128Store8Lane & 0xff:            {run: (*Translator).storeLane, typ: clif.I8x16, cond: uint8(clif.U8)},
	wasmfront.OpV128Store16Lane & 0xff:           {run: (*Translator).storeLane, typ: clif.I16x8, cond: uint8(clif.U16)},
	wasmfront.OpV128Store32Lane & 0xff:           {run: (*Translator).storeLane, typ: clif.I32x4, cond: uint8(clif.Full)},
	wasmfront.OpV128Store64Lane & 0xff:           {run: (*Translator).storeLane, typ: clif.I64x2, cond: uint8(clif.Full)},
	wasmfront.OpV128Load32Zero & 0xff:            {run: (*Translator).load, typ: clif.V128, cond: uint8(clif.U32)},
	wasmfront.OpV128Load64Zero & 0xff:            {run: (*Translator).load, typ: clif.V128, cond: uint8(clif.U64)},
	wasmfront.OpF32x4DemoteF64x2Zero & 0xff:      {run: (*Translator).unary, code: clif.OpVdemote, typ: clif.F32x4},
	wasmfront.OpF64x2PromoteLowF32x4 & 0xff:      {run: (*Translator).unary, code: clif.OpVpromote, typ: clif.F64x2},
	wasmfront.OpI8x16Abs & 0xff:                  {run: (*Translator).unary, code: clif.OpVabs, typ: clif.I8x16},
	wasmfront.OpI8x16Neg & 0xff:                  {run: (*Translator).unary, code: clif.OpVneg, typ: clif.I8x16},
	wasmfront.OpI8x16Popcnt & 0xff:               {run: (*Translator).unary, code: clif.OpVpopcnt, typ: clif.I8x16},
	wasmfront.OpI8x16AllTrue & 0xff:              {run: (*Translator).unary, code: clif.OpVallTrue, typ: clif.I8x16},
	wasmfront.OpI8x16Bitmask & 0xff:              {run: (*Translator).unary, code: clif.OpVbitmask, typ: clif.I8x16},
	wasmfront.OpI8x16NarrowI16x8S & 0xff:         {run: (*Translator).binary, code: clif.OpVnarrowS, typ: clif.I8x16},
	wasmfront.OpI8x16NarrowI16x8U & 0xff:         {run: (*Translator).binary, code: clif.OpVnarrowU, typ: clif.I8x16},
	wasmfront.OpF32x4Ceil & 0xff:                 {run: (*Translator).unary, code: clif.OpVfceil, typ: clif.F32x4},
	wasmfront.OpF32x4Floor & 0xff:                {run: (*Translator).unary, code: clif.OpVffloor, typ: clif.F32x4},
	wasmfront.OpF32x4Trunc & 0xff:                {run: (*Translator).unary, code: clif.OpVftrunc, typ: clif.F32x4},
	wasmfront.OpF32x4Nearest & 0xff:              {run: (*Translator).unary, code: clif.OpVfnearest, typ: clif.F32x4},
	wasmfront.OpI8x16Shl & 0xff:                  {run: (*Translator).binary, code: clif.OpVshl, typ: clif.I8x16},
	wasmfront.OpI8x16ShrS & 0xff:                 {run: (*Translator).binary, code: clif.OpVshrS, typ: clif.I8x16},
	wasmfront.OpI8x16ShrU & 0xff:                 {run: (*Translator).binary, code: clif.OpVshrU, typ: clif.I8x16},
	wasmfront.OpI8x16Add & 0xff:                  {run: (*Translator).binary, code: clif.OpVadd, typ: clif.I8x16},
	wasmfront.OpI8x16AddSatS & 0xff:              {run: (*Translator).binary, code: clif.OpVaddSatS, typ: clif.I8x16},
	wasmfront.OpI8x16AddSatU & 0xff:              {run: (*Translator).binary, code: clif.OpVaddSatU, typ: clif.I8x16},
	wasmfront.OpI8x16Sub & 0xff:                  {run: (*Translator).binary, code: clif.OpVsub, typ: clif.I8x16},
	wasmfront.OpI8x16SubSatS & 0xff:              {run: (*Translator).binary, code: clif.OpVsubSatS, typ: clif.I8x16},
	wasmfront.OpI8x16SubSatU & 0xff:              {run: (*Translator).binary, code: clif.OpVsubSatU, typ: clif.I8x16},
	wasmfront.OpF64x2Ceil & 0xff:                 {run: (*Translator).unary, code: clif.OpVfceil, typ: clif.F64x2},
	wasmfront.OpF64x2Floor & 0xff:                {run: (*Translator).unary, code: clif.OpVffloor, typ: clif.F64x2},
	wasmfront.OpI8x16MinS & 0xff:                 {run: (*Translator).binary, code: clif.OpVminS, typ: clif.I8x16},
	wasmfront.OpI8x16MinU & 0xff:                 {run: (*Translator).binary, code: clif.OpVminU, typ: clif.I8x16},
	wasmfront.OpI8x16MaxS & 0xff:                 {run: (*Translator).binary, code: clif.OpVmaxS, typ: clif.I8x16},
	wasmfront.OpI8x16MaxU & 0xff:                 {run: (*Translator).binary, code: clif.OpVmaxU, typ: clif.I8x16},
	wasmfront.OpF64x2Trunc & 0xff:                {run: (*Translator).unary, code: clif.OpVftrunc, typ: clif.F64x2},
	wasmfront.OpI8x16AvgrU & 0xff:                {run: (*Translator).binary, code: clif.OpVavgrU, typ: clif.I8x16},
	wasmfront.OpI16x8ExtaddPairwiseI8x16S & 0xff: {run: (*Translator).unary, code: clif.OpVextaddPairS, typ: clif.I16x8},
	wasmfront.OpI16x8ExtaddPairwiseI8x16U & 0xff: {run: (*Translator).unary, code: clif.OpVextaddPairU, typ: clif.I16x8},
	wasmfront.OpI32x4ExtaddPairwiseI16x8S & 0xff: {run: (*Translator).unary, code: clif.OpVextaddPairS, typ: clif.I32x4},
	wasmfront.OpI32x4ExtaddPairwiseI16x8U & 0xff: {run: (*Translator).unary, code: clif.OpVextaddPairU, typ: clif.I32x4},
	wasmfront.OpI16x8Abs & 0xff:                  {run: (*Translator).unary, code: clif.OpVabs, typ: clif.I16x8},
	wasmfront.OpI16x8Neg & 0xff:                  {run: (*Translator).unary, code: clif.OpVneg, typ: clif.I16x8},
	wasmfront.OpI16x8Q15mulrSatS & 0xff:          {run: (*Translator).binary, code: clif.OpVq15mulrSat, typ: clif.I16x8},
	wasmfront.OpI16x8AllTrue & 0xff:              {run: (*Translator).unary, code: clif.OpVallTrue, typ: clif.I16x8},
	wasmfront.OpI16x8Bitmask & 0xff:              {run: (*Translator).unary, code: clif.OpVbitmask, typ: clif.I16x8},
	wasmfront.OpI16x8NarrowI32x4S & 0xff:         {run: (*Translator).binary, code: clif.OpVnarrowS, typ: clif.I16x8},
	wasmfront.OpI16x8NarrowI32x4U & 0xff:         {run: (*Translator).binary, code: clif.OpVnarrowU, typ: clif.I16x8},
	wasmfront.OpI16x8ExtendLowI8x16S & 0xff:      {run: (*Translator).unary, code: clif.OpVextendLowS, typ: clif.I16x8},
	wasmfront.OpI16x8ExtendHighI8x16S & 0xff:     {run: (*Translator).unary, code: clif.OpVextendHighS, typ: clif.I16x8},
	wasmfront.OpI16x8ExtendLowI8x16U & 0xff:      {run: (*Translator).unary, code: clif.OpVextendLowU, typ: clif.I16x8},
	wasmfront.OpI16x8ExtendHighI8x16U & 0xff:     {run: (*Translator).unary, code: clif.OpVextendHighU, typ: clif.I16x8},
	wasmfront.OpI16x8Shl & 0xff:                  {run: (*Translator).binary, code: clif.OpVshl, typ: clif.I16x8},
	wasmfront.OpI16x8ShrS & 0xff:                 {run: (*Translator).binary, code: clif.OpVshrS, typ: clif.I16x8},
	wasmfront.OpI16x8ShrU & 0xff:                 {run: (*Translator).binary, code: clif.OpVshrU, typ: clif.I16x8},
	wasmfront.OpI16x8Add & 0xff:                  {run: (*Translator).binary, code: clif.OpVadd, typ: clif.I16x8},
	wasmfront.OpI16x8AddSatS & 0xff:              {run: (*Translator).binary, code: clif.OpVaddSatS, typ: clif.I16x8},
	wasmfront.OpI16x8AddSatU & 0xff:              {run: (*Translator).binary, code: clif.OpVaddSatU, typ: clif.I16x8},
	wasmfront.OpI16x8Sub & 0xff:                  {run: (*Translator).binary, code: clif.OpVsub, typ: clif.I16x8},
	wasmfront.OpI16x8SubSatS & 0xff:              {run: (*Translator).binary, code: clif.OpVsubSatS, typ: clif.I16x8},
	wasmfront.OpI16x8SubSatU & 0xff:              {run: (*Translator).binary, code: clif.OpVsubSatU, typ: clif.I16x8},
	wasmfront.OpF64x2Nearest & 0xff:              {run: (*Translator).unary, code: clif.OpVfnearest, typ: clif.F64x2},
	wasmfront.OpI16x8Mul & 0xff:                  {run: (*Translator).binary, code: clif.OpVmul, typ: clif.I16x8},
	wasmfront.OpI16x8MinS & 0xff:                 {run: (*Translator).binary, code: clif.OpVminS, typ: clif.I16x8},
	wasmfront.OpI16x8MinU & 0xff:                 {run: (*Translator).binary, code: clif.OpVminU, typ: clif.I16x8},
	wasmfront.OpI16x8MaxS & 0xff:                 {run: (*Translator).binary, code: clif.OpVmaxS, typ: clif.I16x8},
	wasmfront.OpI16x8MaxU & 0xff:                 {run: (*Translator).binary, code: clif.OpVmaxU, typ: clif.I16x8},
	wasmfront.OpI16x8AvgrU & 0xff:                {run: (*Translator).binary, code: clif.OpVavgrU, typ: clif.I16x8},
	wasmfront.OpI16x8ExtmulLowI8x16S & 0xff:      {run: (*Translator).binary, code: clif.OpVextmulLowS, typ: clif.I16x8},
	wasmfront.OpI16x8ExtmulHighI8x16S & 0xff:     {run: (*Translator).binary, code: clif.OpVextmulHighS, typ: clif.I16x8},
	wasmfront.OpI16x8ExtmulLowI8x16U & 0xff:      {run: (*Translator).binary, code: clif.OpVextmulLowU, typ: clif.I16x8},
	wasmfront.OpI16x8ExtmulHighI8x16U & 0xff:     {run: (*Translator).binary, code: clif.OpVextmulHighU, typ: clif.I16x8},
	wasmfront.OpI32x4Abs & 0xff:                  {run: (*Translator).unary, code: clif.OpVabs, typ: clif.I32x4},
	wasmfront.OpI32x4Neg & 0xff:                  {run: (*Translator).unary, code: clif.OpVneg, typ: clif.I32x4},
	wasmfront.OpI32x4AllTrue & 0xff:              {run: (*Translator).unary, code: clif.OpVallTrue, typ: clif.I32x4},
	wasmfront.OpI32x4Bitmask & 0xff:              {run: (*Translator).unary, code: clif.OpVbitmask, typ: clif.I32x4},
	wasmfront.OpI32x4ExtendLowI16x8S & 0xff:      {run: (*Translator).unary, code: clif.OpVextendLowS, typ: clif.I32x4},
	wasmfront.OpI32x4ExtendHighI16x8S & 0xff:     {run: (*Translator).unary, code: clif.OpVextendHighS, typ: clif.I32x4},
	wasmfront.OpI32x4ExtendLowI16x8U & 0xff:      {run: (*Translator).unary, code: clif.OpVextendLowU, typ: clif.I32x4},
	wasmfront.OpI32x4ExtendHighI16x8U & 0xff:     {run: (*Translator).unary, code: clif.OpVextendHighU, typ: clif.I32x4},
	wasmfront.OpI32x4Shl & 0xff:                  {run: (*Translator).binary, code: clif.OpVshl, typ: clif.I32x4},
	wasmfront.OpI32x4ShrS & 0xff:                 {run: (*Translator).binary, code: clif.OpVshrS, typ: clif.I32x4},
	wasmfront.OpI32x4ShrU & 0xff:                 {run: (*Translator).binary, code: clif.OpVshrU, typ: clif.I32x4},
	wasmfront.OpI32x4Add & 0xff:                  {run: (*Translator).binary, code: clif.OpVadd, typ: clif.I32x4},
	wasmfront.OpI32x4Sub & 0xff:                  {run: (*Translator).binary, code: clif.OpVsub, typ: clif.I32x4},
	wasmfront.OpI32x4Mul & 0xff:                  {run: (*Translator).binary, code: clif.OpVmul, typ: clif.I32x4},
	wasmfront.OpI32x4MinS & 0xff:                 {run: (*Translator).binary, code: clif.OpVminS, typ: clif.I32x4},
	wasmfront.OpI32x4MinU & 0xff:                 {run: (*Translator).binary, code: clif.OpVminU, typ: clif.I32x4},
	wasmfront.OpI32x4MaxS & 0xff:                 {run: (*Translator).binary, code: clif.OpVmaxS, typ: clif.I32x4},
	wasmfront.OpI32x4MaxU & 0xff:                 {run: (*Translator).binary, code: clif.OpVmaxU, typ: clif.I32x4},
	wasmfront.OpI32x4DotI16x8S & 0xff:            {run: (*Translator).binary, code: clif.OpVdot, typ: clif.I32x4},
	wasmfront.OpI32x4ExtmulLowI16x8S & 0xff:      {run: (*Translator).binary, code: clif.OpVextmulLowS, typ: clif.I32x4},
	wasmfront.OpI32x4ExtmulHighI16x8S & 0xff:     {run: (*Translator).binary, code: clif.OpVextmulHighS, typ: clif.I32x4},
	wasmfront.OpI32x4ExtmulLowI16x8U & 0xff:      {run: (*Translator).binary, code: clif.OpVextmulLowU, typ: clif.I32x4},
	wasmfront.OpI32x4ExtmulHighI16x8U & 0xff:     {run: (*Translator).binary, code: clif.OpVextmulHighU, typ: clif.I32x4},
	wasmfront.OpI64x2Abs & 0xff:                  {run: (*Translator).unary, code: clif.OpVabs, typ: clif.I64x2},
	wasmfront.OpI64x2Neg & 0xff:                  {run: (*Translator).unary, code: clif.OpVneg, typ: clif.I64x2},
	wasmfront.OpI64x2AllTrue & 0xff:              {run: (*Translator).unary, code: clif.OpVallTrue, typ: clif.I64x2},
	wasmfront.OpI64x2Bitmask & 0xff:              {run: (*Translator).unary, code: clif.OpVbitmask, typ: clif.I64x2},
	wasmfront.OpI64x2ExtendLowI32x4S & 0xff:      {run: (*Translator).unary, code: clif.OpVextendLowS, typ: clif.I64x2},
	wasmfront.OpI64x2ExtendHighI32x4S & 0xff:     {run: (*Translator).unary, code: clif.OpVextendHighS, typ: clif.I64x2},
	wasmfront.OpI64x2ExtendLowI32x4U & 0xff:      {run: (*Translator).unary, code: clif.OpVextendLowU, typ: clif.I64x2},
	wasmfront.OpI64x2ExtendHighI32x4U & 0xff:     {run: (*Translator).unary, code: clif.OpVextendHighU, typ: clif.I64x2},
	wasmfront.OpI64x2Shl & 0xff:                  {run: (*Translator).binary, code: clif.OpVshl, typ: clif.I64x2},
	wasmfront.OpI64x2ShrS & 0xff:                 {run: (*Translator).binary, code: clif.OpVshrS, typ: clif.I64x2},
	wasmfront.OpI64x2ShrU & 0xff:                 {run: (*Translator).binary, code: clif.OpVshrU, typ: clif.I64x2},
	wasmfront.OpI64x2Add & 0xff:                  {run: (*Translator).binary, code: clif.OpVadd, typ: clif.I64x2},
	wasmfront.OpI64x2Sub & 0xff:                  {run: (*Translator).binary, code: clif.OpVsub, typ: clif.I64x2},
	wasmfront.OpI64x2Mul & 0xff:                  {run: (*Translator).binary, code: clif.OpVmul, typ: clif.I64x2},
	wasmfront.OpI64x2Eq & 0xff:                   {run: (*Translator).vicmp, typ: clif.I64x2, cond: uint8(clif.Eq)},
	wasmfront.OpI64x2Ne & 0xff:                   {run: (*Translator).vicmp, typ: clif.I64x2, cond: uint8(clif.Ne)},
	wasmfront.OpI64x2LtS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I64x2, cond: uint8(clif.Slt)},
	wasmfront.OpI64x2GtS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I64x2, cond: uint8(clif.Sgt)},
	wasmfront.OpI64x2LeS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I64x2, cond: uint8(clif.Sle)},
	wasmfront.OpI64x2GeS & 0xff:                  {run: (*Translator).vicmp, typ: clif.I64x2, cond: uint8(clif.Sge)},
	wasmfront.OpI64x2ExtmulLowI32x4S & 0xff:      {run: (*Translator).binary, code: clif.OpVextmulLowS, typ: clif.I64x2},
	wasmfront.OpI64x2ExtmulHighI32x4S & 0xff:     {run: (*Translator).binary, code: clif.OpVextmulHighS, typ: clif.I64x2},
	wasmfront.OpI64x2ExtmulLowI32x4U & 0xff:      {run: (*Translator).binary, code: clif.OpVextmulLowU, typ: clif.I64x2},
	wasmfront.OpI64x2ExtmulHighI32x4U & 0xff:     {run: (*Translator).binary, code: clif.OpVextmulHighU, typ: clif.I64x2},
	wasmfront.OpF32x4Abs & 0xff:                  {run: (*Translator).unary, code: clif.OpVfabs, typ: clif.F32x4},
	wasmfront.OpF32x4Neg & 0xff:                  {run: (*Translator).unary, code: clif.OpVfneg, typ: clif.F32x4},
	wasmfront.OpF32x4Sqrt & 0xff:                 {run: (*Translator).unary, code: clif.OpVfsqrt, typ: clif.F32x4},
	wasmfront.OpF32x4Add & 0xff:                  {run: (*Translator).binary, code: clif.OpVfadd, typ: clif.F32x4},
	wasmfront.OpF32x4Sub & 0xff:                  {run: (*Translator).binary, code: clif.OpVfsub, typ: clif.F32x4},
	wasmfront.OpF32x4Mul & 0xff:                  {run: (*Translator).binary, code: clif.OpVfmul, typ: clif.F32x4},
	wasmfront.OpF32x4Div & 0xff:                  {run: (*Translator).binary, code: clif.OpVfdiv, typ: clif.F32x4},
	wasmfront.OpF32x4Min & 0xff:                  {run: (*Translator).binary, code: clif.OpVfmin, typ: clif.F32x4},
	wasmfront.OpF32x4Max & 0xff:                  {run: (*Translator).binary, code: clif.OpVfmax, typ: clif.F32x4},
	wasmfront.OpF32x4Pmin & 0xff:                 {run: (*Translator).binary, code: clif.OpVfpmin, typ: clif.F32x4},
	wasmfront.OpF32x4Pmax & 0xff:                 {run: (*Translator).binary, code: clif.OpVfpmax, typ: clif.F32x4},
	wasmfront.OpF64x2Abs & 0xff:                  {run: (*Translator).unary, code: clif.OpVfabs, typ: clif.F64x2},
	wasmfront.OpF64x2Neg & 0xff:                  {run: (*Translator).unary, code: clif.OpVfneg, typ: clif.F64x2},
	wasmfront.OpF64x2Sqrt & 0xff:                 {run: (*Translator).unary, code: clif.OpVfsqrt, typ: clif.F64x2},
	wasmfront.OpF64x2Add & 0xff:                  {run: (*Translator).binary, code: clif.OpVfadd, typ: clif.F64x2},
	wasmfront.OpF64x2Sub & 0xff:                  {run: (*Translator).binary, code: clif.OpVfsub, typ: clif.F64x2},
	wasmfront.OpF64x2Mul & 0xff:                  {run: (*Translator).binary, code: clif.OpVfmul, typ: clif.F64x2},
	wasmfront.OpF64x2Div & 0xff:                  {run: (*Translator).binary, code: clif.OpVfdiv, typ: clif.F64x2},
	wasmfront.OpF64x2Min & 0xff:                  {run: (*Translator).binary, code: clif.OpVfmin, typ: clif.F64x2},
	wasmfront.OpF64x2Max & 0xff:                  {run: (*Translator).binary, code: clif.OpVfmax, typ: clif.F64x2},
	wasmfront.OpF64x2Pmin & 0xff:                 {run: (*Translator).binary, code: clif.OpVfpmin, typ: clif.F64x2},
	wasmfront.OpF64x2Pmax & 0xff:                 {run: (*Translator).binary, code: clif.OpVfpmax, typ: clif.F64x2},
	wasmfront.OpI32x4TruncSatF32x4S & 0xff:       {run: (*Translator).unary, code: clif.OpVcvtToSintSat, typ: clif.F32x4},
	wasmfront.OpI32x4TruncSatF32x4U & 0xff:       {run: (*Translator).unary, code: clif.OpVcvtToUintSat, typ: clif.F32x4},
	wasmfront.OpF32x4ConvertI32x4S & 0xff:        {run: (*Translator).unary, code: clif.OpVcvtFromSint, typ: clif.F32x4},
	wasmfront.OpF32x4ConvertI32x4U & 0xff:        {run: (*Translator).unary, code: clif.OpVcvtFromUint, typ: clif.F32x4},
	wasmfront.OpI32x4TruncSatF64x2SZero & 0xff:   {run: (*Translator).unary, code: clif.OpVcvtToSintSat, typ: clif.F64x2},
	wasmfront.OpI32x4TruncSatF64x2UZero & 0xff:   {run: (*Translator).unary, code: clif.OpVcvtToUintSat, typ: clif.F64x2},
	wasmfront.OpF64x2ConvertLowI32x4S & 0xff:     {run: (*Translator).unary, code: clif.OpVcvtFromSint, typ: clif.F64x2},
	wasmfront.OpF64x2ConvertLowI32x4U & 0xff:     {run: (*Translator).unary, code: clif.OpVcvtFromUint, typ: clif.F64x2},
}

func (t *Translator) vconst(op *wasmfront.Operator, _ *handler) { t.push(t.b.Vconst(op.I64, op.High)) }

func (t *Translator) ternary(_ *wasmfront.Operator, h *handler) {
	z, y, x := t.pop(), t.pop(), t.pop()
	t.pushComputed(h, t.b.Ternary(h.code, h.typ, x, y, z))
}

func (t *Translator) vicmp(_ *wasmfront.Operator, h *handler) {
	y, x := t.pop(), t.pop()
	t.push(t.b.Vicmp(clif.IntCC(h.cond), h.typ, x, y))
}

func (t *Translator) vfcmp(_ *wasmfront.Operator, h *handler) {
	y, x := t.pop(), t.pop()
	t.push(t.b.Vfcmp(clif.FloatCC(h.cond), h.typ, x, y))
}

func (t *Translator) extract(op *wasmfront.Operator, h *handler) {
	t.push(t.b.Extract(h.code, h.typ, t.pop(), op.Lane))
}

func (t *Translator) insert(op *wasmfront.Operator, h *handler) {
	y, x := t.pop(), t.pop()
	t.push(t.b.Insert(h.typ, x, y, op.Lane))
}

func (t *Translator) shuffle(op *wasmfront.Operator, _ *handler) {
	var lanes [16]uint8
	binary.LittleEndian.PutUint64(lanes[:], op.I64)
	binary.LittleEndian.PutUint64(lanes[8:], op.High)
	y, x := t.pop(), t.pop()
	t.push(t.b.Shuffle(x, y, lanes))
}

// Loads and stores of parts of vectors are pairs of instructions, which lowering fuses where the machine can.

// loadExtend loads 64 bits and extends each lane.
func (t *Translator) loadExtend(op *wasmfront.Operator, h *handler) {
	half := t.b.Load(clif.V128, clif.U64, clif.MemoryIndex(op.Index), t.pop(), op.I64)
	t.push(t.b.Unary(h.code, h.typ, half))
}

// loadSplat loads one lane and copies it to all. The shapes of 32 and 64 bits are those of floats, because
// there a scalar is in a vector register already.
func (t *Translator) loadSplat(op *wasmfront.Operator, h *handler) {
	t.push(t.b.Unary(clif.OpVsplat, h.typ, t.loadScalar(op, h, t.pop())))
}

func (t *Translator) loadLane(op *wasmfront.Operator, h *handler) {
	x, addr := t.pop(), t.pop()
	t.push(t.b.Insert(h.typ, x, t.loadScalar(op, h, addr), op.Lane))
}

func (t *Translator) loadScalar(op *wasmfront.Operator, h *handler, addr clif.Value) clif.Value {
	return t.b.Load(h.typ.LaneType(), clif.Access(h.cond), clif.MemoryIndex(op.Index), addr, op.I64)
}

func (t *Translator) storeLane(op *wasmfront.Operator, h *handler) {
	x, addr := t.pop(), t.pop()
	lane := t.b.Extract(clif.OpVextract, h.typ, x, op.Lane)
	t.b.Store(h.typ.LaneType(), clif.Access(h.cond), clif.MemoryIndex(op.Index), addr, lane, op.I64)
}
