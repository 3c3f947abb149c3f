use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::qos::{Durability, Reliability};
use crate::qos::{Liveliness, Presentation};

fn policies(offered: &Qos, requested: &Qos) -> Vec<Policy> {
    let found = mismatches(offered, requested);
    found.into_iter().map(|mismatch| mismatch.policy).collect()
}

#[test]
fn defaults_match() {
    // Oracle: DDS 1.4, 2.2.3; a reliable writer serves a best-effort reader.
    assert_eq!(mismatches(&Qos::writer(), &Qos::reader()), []);
    assert_eq!(mismatches(&Qos::writer(), &Qos::writer()), []);
}

#[test]
fn reasons_are_told() {
    let mut offered = Qos::reader();
    let requested = Qos {
        deadline: Duration::from_us(1_500),
        representations: [Representation::Xcdr1, Representation::Xml].into(),
        ..Qos::writer()
    };
    offered.representations.push(Representation::Xcdr2);
    let texts: Vec<_> = mismatches(&offered, &requested).iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "deadline: infinite is offered, 1500 us is requested",
            "reliability: best effort is offered, reliable is requested",
            "data representation: XCDR2 is offered, XCDR1 or XML is requested",
        ]
    );
}

/// A change of policies, and the policy concerned.
type Change = (fn(&mut Qos), Policy);

#[test]
fn each_policy_has_its_rule() {
    // Oracle: the table of DDS 1.4, 2.2.3: each requests more than is offered, in one policy.
    let more: [Change; 9] = [
        (|q| q.durability = Durability::TransientLocal, Policy::Durability),
        (|q| q.deadline = Duration::from_s(1), Policy::Deadline),
        (|q| q.liveliness.kind = LivelinessKind::ManualByTopic, Policy::Liveliness),
        (|q| q.liveliness.lease = Duration::from_s(1), Policy::Liveliness),
        (|q| q.reliability = Reliability::Reliable, Policy::Reliability),
        (|q| q.destination_order = DestinationOrder::BySource, Policy::DestinationOrder),
        (|q| q.presentation.scope = AccessScope::Topic, Policy::Presentation),
        (|q| q.presentation.is_coherent = true, Policy::Presentation),
        (|q| q.presentation.is_ordered = true, Policy::Presentation),
    ];
    let less = Qos::reader();
    for (change, policy) in more {
        let mut more = less.clone();
        change(&mut more);
        assert_eq!(policies(&less, &more), [policy]);
        assert_eq!(policies(&more, &less), []);
    }
    // For this policy the larger value offers less.
    let mut slow = less.clone();
    slow.latency_budget = Duration::from_ms(1);
    assert_eq!(policies(&slow, &less), [Policy::LatencyBudget]);
    assert_eq!(policies(&less, &slow), []);
    // These must be equal.
    let mut exclusive = less.clone();
    exclusive.ownership = Ownership::Exclusive;
    assert_eq!(policies(&exclusive, &less), [Policy::Ownership]);
    assert_eq!(policies(&less, &exclusive), [Policy::Ownership]);
}

#[test]
fn more_than_one_reason() {
    let offered = Qos::reader();
    let requested = Qos {
        liveliness: Liveliness {
            kind: LivelinessKind::ManualByParticipant,
            lease: Duration::from_ms(1),
        },
        presentation: Presentation {
            scope: AccessScope::Group,
            is_coherent: true,
            is_ordered: true,
        },
        ..Qos::writer()
    };
    let found = policies(&offered, &requested);
    assert_eq!(found, [Policy::Presentation, Policy::Liveliness, Policy::Reliability]);
    // Oracle: DDS 1.4, table of policy ids.
    let ids: Vec<_> = found.iter().map(|policy| policy.id()).collect();
    assert_eq!(ids, [3, 8, 11]);
}

#[test]
fn the_first_encoding_of_the_writer_counts() {
    // Oracle: DDS-XTypes 1.3, 7.6.3.1.1.
    let of = |list: &[Representation]| Qos { representations: list.into(), ..Qos::reader() };
    let (one, two) = (Representation::Xcdr1, Representation::Xcdr2);
    assert_eq!(policies(&of(&[two, one]), &of(&[one])), [Policy::DataRepresentation]);
    assert_eq!(policies(&of(&[two]), &of(&[one, two])), []);
    assert_eq!(policies(&of(&[]), &of(&[two])), [Policy::DataRepresentation]);
    assert_eq!(policies(&of(&[one]), &of(&[])), []);
}

fn are_common(a: &[&str], b: &[&str]) -> bool {
    let owned = |names: &[&str]| names.iter().map(|n| String::from(*n)).collect::<Vec<_>>();
    let (a, b) = (owned(a), owned(b));
    let result = partitions_match(&a, &b);
    assert_eq!(partitions_match(&b, &a), result);
    result
}

#[test]
fn partitions() {
    // Oracle: DDS 1.4, 2.2.3.13.
    assert!(are_common(&[], &[]));
    assert!(are_common(&[], &[""]));
    assert!(are_common(&[], &["*"]));
    assert!(!are_common(&[], &["?*"]));
    assert!(!are_common(&[], &["a"]));
    assert!(are_common(&["a", "b"], &["c", "b"]));
    assert!(are_common(&["a*", "b"], &["axe"]));
    assert!(!are_common(&["a*"], &["a*"]), "patterns do not meet");
    assert!(!are_common(&["a?"], &["a*"]));
    assert!(!are_common(&["A"], &["a"]));
}

#[test]
fn patterns() {
    // Oracle: by hand after POSIX fnmatch.
    for (pattern, name, expected) in [
        ("", "", true),
        ("a*c", "abcbc", true),
        ("a*c", "abcb", false),
        ("*a*b*", "xxaxxbxx", true),
        ("*a*b", "xxbxxa", false),
        ("?", "ä", true),
        ("?", "", false),
        ("[a-c]x", "bx", true),
        ("[a-c]x", "dx", false),
        ("[!a-c]x", "dx", true),
        ("[^a-c]x", "ax", false),
        ("[]]", "]", true),
        ("[!]]", "]", false),
        ("[a-]", "-", true),
        ("[a", "[a", true),
        ("[", "[", true),
        ("[[?]", "?", true),
        ("[c-a]", "b", false),
        (r"\*", "*", true),
        (r"\*", "a", false),
        (r"a\", r"a\", true),
    ] {
        assert_eq!(is_match(pattern, name), expected, "{pattern} {name}");
    }
}

#[test]
fn patterns_that_are_meant_to_take_forever() {
    // Oracle: the test completes. A naive match takes exponential or cubic time for each of these.
    let name = "a".repeat(255);
    assert!(!is_match(&("*a".repeat(127) + "b"), &name));
    assert!(!is_match(&("*".repeat(254) + "b"), &name));
    assert!(!is_match(&"[".repeat(255), &name));
    assert!(!is_match(&("*".to_string() + &"[a-z]".repeat(50) + "b"), &name));
}

proptest! {
    /// Oracle: the recursive definition, on short names.
    #[test]
    fn patterns_mean_what_their_definition_says(pattern in "[ab*?]{0,7}", name in "[ab]{0,7}") {
        fn is_match_slow(pattern: &[u8], name: &[u8]) -> bool {
            match (pattern, name) {
                ([], []) => true,
                ([b'*', rest @ ..], _) => (0..=name.len()).any(|n| is_match_slow(rest, &name[n..])),
                ([b'?', p @ ..], [_, n @ ..]) => is_match_slow(p, n),
                ([a, p @ ..], [b, n @ ..]) => a == b && is_match_slow(p, n),
                _ => false,
            }
        }
        let expected = is_match_slow(pattern.as_bytes(), name.as_bytes());
        prop_assert_eq!(is_match(&pattern, &name), expected);
    }

    #[test]
    fn random_patterns_never_panic(pattern: String, name: String) {
        let _ = is_match(&pattern, &name);
    }
}
