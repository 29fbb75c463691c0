//! The blocks that the wire numbers itself, by its number.

use crate::event::BlockKind;

/// A block that the wire numbers itself.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) block: usize,
    pub(super) choice: u32,
    pub(super) kind: BlockKind,
    pub(super) is_open: bool,
    pub(super) argument_bytes: usize,
}

/// All slots, in the order of their numbers. Wires count up, and each delta asks for one, mostly for the last: so this is a list.
#[derive(Debug, Default)]
pub(super) struct Slots(Vec<(u64, Slot)>);

impl Slots {
    fn place(&self, number: u64) -> Result<usize, usize> {
        match self.0.last() {
            Some((last, _)) if *last == number => Ok(self.0.len() - 1),
            Some((last, _)) if *last < number => Err(self.0.len()),
            Some(_) | None => self.0.binary_search_by_key(&number, |(known, _)| *known),
        }
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.place(number).is_ok()
    }

    pub(super) fn get(&self, number: u64) -> Option<&Slot> {
        self.place(number).ok().and_then(|at| self.0.get(at)).map(|(_, slot)| slot)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Slot> {
        self.place(number).ok().and_then(|at| self.0.get_mut(at)).map(|(_, slot)| slot)
    }

    /// Adds a slot under a number that has none.
    pub(super) fn insert(&mut self, number: u64, slot: Slot) {
        // Out of turn this moves what is behind it: the limit of blocks bounds that.
        let (Ok(at) | Err(at)) = self.place(number);
        self.0.insert(at, (number, slot));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Slot)> {
        self.0.iter().map(|(number, slot)| (*number, slot))
    }
}

#[cfg(test)]
mod tests {
    use super::{Slot, Slots};
    use crate::event::BlockKind;

    #[test]
    fn slots_are_found_in_whatever_order_they_came() {
        let numbers = [5, 9, 1 << 62, 2, 7, u64::MAX, 0];
        let mut slots = Slots::default();
        for (block, number) in numbers.into_iter().enumerate() {
            assert!(!slots.contains(number));
            let slot = Slot { block, choice: 0, kind: BlockKind::Text, is_open: true, argument_bytes: 0 };
            slots.insert(number, slot);
        }
        for (block, number) in numbers.into_iter().enumerate() {
            assert_eq!(slots.get(number).map(|slot| slot.block), Some(block));
            assert_eq!(slots.get_mut(number).map(|slot| slot.block), Some(block));
        }
        assert!(slots.get(3).is_none() && slots.get(u64::MAX - 1).is_none());
        assert!(slots.iter().map(|(number, _)| number).is_sorted());
    }
}
